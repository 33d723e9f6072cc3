#!/bin/sh
# {"greet": {"text": "Hello Ada"}} becomes "Hello Ada!".
sed 's/.*"text" *: *\("[^"]*\)".*/\1!"/'
