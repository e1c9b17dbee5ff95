"""The campaign's rounds with outside systems: the graph, the providers and the object store."""

import contextlib
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from unittest.mock import patch
from urllib.parse import urlsplit

from assets.external import all_feeds
from assets.graph import all_extractors
from bench.extraction import sample_server
from local_servers.server import GraphServer
from pipelines.fetch.answering import answer
from pitlake.errors import GraphError, LakeError
from pitlake.lake import Lake
from resources.graph.graph import Graph
from tests.faults.proxy import CUT, LOST, REFUSED, Proxy
from tests.faults.work import NOON, SEEN
from tests.lake.world import TOY, Toy, publish, rows
from tests.object_store import object_store, settings
from tests.partitions import run_partitions
from tests.providers.conftest import CONTACT, KEY, NoLimit
from tests.providers.faults import CASES, always, at_first
from tests.providers.server import Loopback
from tests.providers.test_fetch import ASKED, given_for
from tests.soak.world import Proxy as Door
from tests.toys import between, seen

DAYS = between("2024-01-01", "2024-02-29")
OF_GRAPH = ("news", "reports")
Found = tuple[Counter[str], list[str]]


class Graphs:
    """Rounds with a real graph server behind a proxy that can be shut."""

    def __init__(self, server: GraphServer) -> None:
        self._server, self._door = server, Door(urlsplit(server.uri).port)
        self._due: dict[str, object] = {}

    def __call__(self, chance: random.Random, home: Path) -> Found:
        """Run while the graph is cut off, interrupted or slow, and check that all rows are published, or none."""
        name, what = chance.choice(OF_GRAPH), chance.choice(("cut", "blink", "slow"))
        if name not in self._due:
            lake = Lake(home / "undisturbed")
            self._run(name, lake, self._server.uri)
            self._due[name] = seen(lake, name)
        lake, problems = Lake(home / "lake"), []
        lake.start()
        self._door.pause = 0.05 if what == "slow" else 0.0
        timer = threading.Timer(chance.uniform(0.0, 0.5), self._fail, [what]) if what != "slow" else None
        if timer:
            timer.start()
        try:
            self._run(name, lake, f"bolt://127.0.0.1:{self._door.port}")
            ended = "published"
        except GraphError:
            ended = "refused"
        finally:
            if timer:
                timer.join()
            self._door.reopen()
        shows = seen(lake, name) if lake.head() else []
        if ended == "published" and shows != self._due[name]:
            problems.append(f"lost: {name} is published and differs, graph {what}")
        if ended == "refused" and shows:
            problems.append(f"half-visible: {name} was refused and {len(shows)} rows are there, graph {what}")
        self._run(name, lake, self._server.uri)
        if seen(lake, name) != self._due[name]:
            problems.append(f"lost: {name} differs after the graph came back, graph {what}")
        return Counter({f"{what} {ended}": 1}), problems

    def _fail(self, what: str) -> None:
        self._door.shut()
        if what == "blink":
            time.sleep(0.3)
            self._door.reopen()

    def _run(self, name: str, lake: Lake, uri: str) -> None:
        with Graph(uri, self._server.reader_auth, self._server.database) as graph:
            run_partitions(all_extractors()[name], DAYS, graph, lake, run_id="faults")


class Providers:
    """Rounds with every provider, simulated on the loopback."""

    def __init__(self, server: Loopback) -> None:
        self._server = server

    def __call__(self, chance: random.Random, home: Path) -> Found:
        """Query a source that misbehaves, and query it again once it works."""
        (source, op), case = (
            chance.choice(sorted(ASKED)),
            chance.choice([each for each in CASES if each.name != "timeout"]),
        )
        self._server.behave(chance.choice((always, at_first))(case))
        lake, problems, where = Lake(home / "lake"), [], f"{source} {op}, {case.name}"
        began = time.monotonic()
        payload, _ = answer(given_for(source, op, live=True, timeout="5"), lake=lake, pause=lambda _: None)
        if time.monotonic() - began > 120:
            problems.append(f"stuck: {time.monotonic() - began:.0f} s, {where}")
        kinds = {gap["type"] for gap in payload["gaps"]}
        if not payload["data"] and not kinds:
            problems.append(f"untrue: neither data nor a gap, {where}")
        if {"upstream_error", "no_data"} <= kinds:
            problems.append(f"untrue: a failure is told as absence too, {where}")
        self._server.behave()
        again, _ = answer(given_for(source, op, live=True), lake=lake, pause=lambda _: None)
        if case.recovers(_dataset(source, op)) and not again["data"]:
            problems.append(f"lost: nothing comes although the source is well again, {where}")
        return Counter({"with gaps" if kinds else "with data alone": 1}), problems


class Stores:
    """Rounds with an object store behind a proxy."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy

    def __call__(self, chance: random.Random, home: Path) -> Found:
        """Publish, compact and vacuum while responses are lost, cut off or refused; then publish without faults."""
        share, sure = chance.choice((0.05, 0.2, 0.5)), threading.Lock()

        def fault(_method: str, _path: str) -> str | None:
            with sure:
                return chance.choice((LOST, CUT, REFUSED)) if chance.random() < share else None

        os.environ["PITLAKE_CACHE"] = str(home / "cache")
        lake, problems, counts = Lake(f"s3://lakes/{os.urandom(6).hex()}"), [], Counter[str]()
        publish(lake, [Toy("first", "x", NOON)], SEEN)
        self._proxy.done.clear()
        reply, due = {"first"}, {"first"}
        for number in range(4):
            key, before = f"toy {number}", lake.head()
            due.add(key)
            self._proxy.fault = fault
            try:
                done = publish(lake, [Toy(key, "x", NOON)], SEEN + timedelta(days=number))
                ended = "published"
            except LakeError:
                ended, done = "refused", None
            finally:
                self._proxy.fault = lambda _method, _path: None
            counts[ended] += 1
            there = lake.head() > before
            if done is not None and (done.total.published, there) != (1, True):
                problems.append(f"untrue: published {done.total.published}, and a version is there: {there}")
            if done is None and there:
                problems.append("untrue: a run that failed published")
            reply |= {key} if there else set()
        for work in (lambda: lake.compact(TOY, before="2025-01"), lambda: lake.vacuum(timedelta(0), dry_run=False)):
            self._proxy.fault = fault
            with contextlib.suppress(LakeError):
                work()
            self._proxy.fault = lambda _method, _path: None
            problems += self._judged(lake, reply)
        for number in range(4):
            publish(lake, [Toy(f"toy {number}", "x", NOON)], SEEN + timedelta(days=10 + number))
        problems += self._judged(lake, due)
        return counts + Counter({f"answers {kind}": count for kind, count in self._proxy.done.items()}), problems

    def _judged(self, lake: Lake, due: set[str]) -> list[str]:
        lake.snapshot().fetch(lake.snapshot().files("toys"))
        keys = Counter(row.key for row in rows(lake))
        doubled = [f"doubled: {key}" for key, count in keys.items() if count > 1]
        return doubled + ([f"lost: {sorted(due ^ keys.keys())}"] if due != keys.keys() else [])


@contextlib.contextmanager
def providers() -> Iterator[Providers]:
    """Simulate every provider during the block, and yield their rounds."""
    feeds = [feed.provider for feed in all_feeds().values()]
    secrets = {names[0]: KEY for each in feeds for names in each.secrets.values()}
    contacts = {name: CONTACT for each in feeds for name in each.contact[:1]}
    with (
        Loopback() as server,
        patch("resources.http.client.RateLimit", NoLimit),
        patch.dict(os.environ, {**server.settings(), **secrets, **contacts}),
    ):
        yield Providers(server)


@contextlib.contextmanager
def stores() -> Iterator[Stores]:
    """Start an object store with one empty bucket, and yield its rounds."""
    with object_store() as store, Proxy(store) as proxy, patch.dict(os.environ, settings(proxy.url)):
        yield Stores(proxy)


@contextlib.contextmanager
def graphs() -> Iterator[Graphs]:
    """Start the embedded server with the sample world, and yield its rounds."""
    with sample_server() as server:
        yield Graphs(server)


def _dataset(source: str, op: str) -> str:
    from pipelines.fetch.operations import OPERATIONS

    return OPERATIONS[source, op].dataset
