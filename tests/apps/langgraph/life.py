"""LangGraph's checkpoints and store: migrations, writing, listing, filters, search, deleting."""

import os

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.store.postgres import PostgresStore

url = os.environ["DATABASE_URL"]
with PostgresSaver.from_conn_string(url) as saver:
    saver.setup()
    saver.setup()
    config = {"configurable": {"thread_id": "one", "checkpoint_ns": ""}}
    for n in range(4):
        checkpoint = empty_checkpoint()
        checkpoint["channel_values"] = {"n": n, "text": "x" * n, "many": [n, {"a": n}]}
        checkpoint["channel_versions"] = {"n": f"{n + 1}", "text": f"{n + 1}", "many": f"{n + 1}"}
        config = saver.put(config, checkpoint, {"source": "loop", "step": n, "writes": {"n": n}}, checkpoint["channel_versions"])
        saver.put_writes(config, [("n", n), ("text", "written")], f"task {n}")
    found = saver.get_tuple(config)
    print(found.checkpoint["channel_values"], found.metadata, found.pending_writes)
    print([t.metadata["step"] for t in saver.list({"configurable": {"thread_id": "one"}})])
    print([t.metadata["step"] for t in saver.list(None, filter={"step": 2})])
    print([t.metadata["step"] for t in saver.list({"configurable": {"thread_id": "one"}}, before=config, limit=2)])
    saver.delete_thread("one")
    print(saver.get_tuple(config))

with PostgresStore.from_conn_string(url) as store:
    store.setup()
    for n in range(10):
        store.put(("docs", "even" if n % 2 == 0 else "odd"), f"key {n}", {"n": n, "title": f"title {n}", "nested": {"x": n % 3}})
    store.put(("docs", "even"), "key 2", {"n": 200, "title": "changed"})
    print(store.get(("docs", "even"), "key 2").value, store.get(("docs", "odd"), "key 2"))
    print(sorted(i.key for i in store.search(("docs",), filter={"title": {"$eq": "title 3"}})))
    print(sorted(i.key for i in store.search(("docs",), filter={"n": {"$gt": 6}})))
    print(sorted(i.key for i in store.search(("docs",), filter={"n": {"$ne": 3}}, limit=20)))
    print(sorted(store.list_namespaces(prefix=("docs",))), store.list_namespaces(suffix=("odd",), max_depth=1))
    store.put(("docs", "odd"), "short", {"n": 1}, ttl=5)
    store.delete(("docs", "odd"), "key 1")
    print(store.get(("docs", "odd"), "key 1"))
    print(store.sweep_ttl())
