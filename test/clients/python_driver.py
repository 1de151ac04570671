"""Calls the published Python SDK for the specs: a JSON request per line on stdin, a JSON answer per line on stdout.

Request  {"id", "client": "v2" | "v1", "method", "args": [...], "kwargs": {...}}
Answer   {"id", "result"} or {"id", "error": {"types": [class names, nearest first], "message", "status", "code"}}

Methods of our own: "watch" (v2: args job id, kind; v1: args job id) answers what the watcher's events were. Arguments may
hold {"$model": "v1.V1ScrapeOptions", ...fields} for an object of the SDK and {"$schema_of": "Article"} for a class.
"""

import asyncio
import json
import os
import sys
import threading
from typing import Optional

from firecrawl import Firecrawl
from firecrawl.v1 import client as v1_models
from firecrawl.v2 import types as v2_models
from pydantic import BaseModel


class Article(BaseModel):
    title: str
    author: Optional[str] = None


class Book(BaseModel):
    articles: list[Article]


CLASSES = {"Article": Article, "Book": Book}
KEY = os.environ["FIRECRAWL_API_KEY"]
URL = os.environ["FIRECRAWL_API_URL"]
v2 = Firecrawl(api_key=KEY, api_url=URL)
v1 = v1_models.V1FirecrawlApp(api_key=KEY, api_url=URL)
output = threading.Lock()


def read(value):
    if isinstance(value, list):
        return [read(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "$schema_of" in value:
        return CLASSES[value["$schema_of"]]
    fields = {key: read(item) for key, item in value.items() if key != "$model"}
    if "$model" not in value:
        return fields
    version, name = value["$model"].split(".")
    return getattr(v1_models if version == "v1" else v2_models, name)(**fields)


def plain(value):
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_none=True)
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def watch_v2(job, kind):
    seen = {"documents": [], "done": 0, "errors": [], "statuses": []}
    watcher = v2.watcher(job, kind=kind, poll_interval=2, timeout=60)
    watcher.add_event_listener("document", lambda event: seen["documents"].append(event["data"]))
    watcher.add_event_listener("done", lambda event: seen.update(done=seen["done"] + 1))
    watcher.add_event_listener("error", lambda event: seen["errors"].append(event.get("error")))
    watcher.add_listener(lambda status: seen["statuses"].append(status.status))
    watcher.start()
    watcher._thread.join(timeout=90)
    return {**seen, "ended": not watcher._thread.is_alive()}


def watch_v1(job):
    seen = {"documents": [], "done": 0, "errors": []}
    watcher = v1_models.V1CrawlWatcher(job, v1)
    watcher.add_event_listener("document", lambda event: seen["documents"].append(event["data"]))
    watcher.add_event_listener("done", lambda event: seen.update(done=seen["done"] + 1))
    watcher.add_event_listener("error", lambda event: seen["errors"].append(event.get("error")))
    asyncio.run(watcher.connect())
    return {**seen, "ended": True}


def call(request):
    args, kwargs = read(request.get("args", [])), read(request.get("kwargs", {}))
    if request["method"] == "watch":
        return watch_v1(*args) if request["client"] == "v1" else watch_v2(*args)
    client = v1 if request["client"] == "v1" else v2
    # Not every method of version 2 has an alias on the unified client.
    method = getattr(client, request["method"], None) or getattr(v2.v2, request["method"])
    return method(*args, **kwargs)


def failure(error):
    response = getattr(error, "response", None)
    return {
        "types": [kind.__name__ for kind in type(error).__mro__],
        "message": str(error),
        "status": getattr(error, "status_code", None) or getattr(response, "status_code", None),
        "code": getattr(error, "code", None),
    }


def serve(request):
    try:
        answer = {"id": request["id"], "result": plain(call(request))}
    except Exception as error:
        answer = {"id": request["id"], "error": failure(error)}
    with output:
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


for line in sys.stdin:
    threading.Thread(target=serve, args=(json.loads(line),), daemon=True).start()
