"""Handlers are functions: call them with a task that holds what they use."""

import unittest
from types import SimpleNamespace as Task

from steps import greet, shout


class Steps(unittest.TestCase):
    def test_ada_is_greeted(self):
        greeting = greet(Task(input={"name": "Ada"}))
        self.assertEqual(shout(Task(input={"greet": greeting})), "Hello Ada!")


if __name__ == "__main__":
    unittest.main()
