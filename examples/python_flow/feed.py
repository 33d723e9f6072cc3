"""The handlers of feedV1: a news feed is read, the words of each article are counted, and the whole
becomes a digest. One process a worker; what this file loads at its top is loaded once."""

import re
import xml.etree.ElementTree as ElementTree
from collections import Counter

from pgflow_step import PermanentFailure, serve

with open("stopwords.txt") as file:
    STOPWORDS = set(file.read().split())


def articles(task):
    try:
        items = ElementTree.parse(task.input).iter("item")
    except (OSError, ElementTree.ParseError) as error:
        raise PermanentFailure(f"{task.input}: {error}")
    return [{"title": item.findtext("title"), "text": item.findtext("description")} for item in items]


def keywords(task):
    words = re.findall(r"[a-z]{3,}", task.input["text"].lower())
    task.log("info", "counted", words=len(words))
    top = Counter(word for word in words if word not in STOPWORDS).most_common(2)
    return {"words": [word for word, _ in top], "urgent": "security" in words}


# The map's outputs stand in the order of the articles.
def digest(task):
    pairs = zip(task.input["articles"], task.input["keywords"])
    return [f"{article['title']}: {', '.join(found['words'])}" for article, found in pairs]


def alert(task):
    return f"look at {task.flow_input} at once"


HANDLERS = {"articles": articles, "keywords": keywords, "digest": digest, "alert": alert}
serve(lambda task: HANDLERS[task.step_slug](task), concurrency=4)
