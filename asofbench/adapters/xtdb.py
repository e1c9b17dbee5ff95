"""XTDB 1: documents with two clocks, in a node in memory: Maven Central has neither its server nor its stores. The node
is asked through its Clojure interface, by lines of JSON.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterable
from datetime import datetime
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from asofbench.adapters.base import Rows
from asofbench.adapters.memory import Memory
from asofbench.model import Question, read

EVER = 2**63 - 1
JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""It lives for minutes, so that the second compiler never pays back."""
NODE = """
(require '[clojure.data.json :as json] '[clojure.string] '[xtdb.api :as xt])
(def node (atom nil))
(defn date [millis] (when millis (java.util.Date. (long millis))))
(defn operation [[kind document at]] (cond-> [(keyword "xtdb.api" kind) document] at (conj (date at))))
(defn write [operations]
  (.getTime (::xt/tx-time (xt/await-tx @node (xt/submit-tx @node (mapv operation operations))))))
(defn documents [{:keys [entity term until at known]}]
  (let [basis (cond-> {} (seq at) (assoc ::xt/valid-time (date (first at))) known (assoc ::xt/tx-time (date known)))
        sought (if entity '[[e :entity sought]] '[[e :text text] [(clojure.string/includes? text sought)]])]
    (map first (xt/q (xt/db @node basis)
                     {:find '[(pull e [*])] :in '[sought until]
                      :where (conj sought '[e :public public] '[(<= public until)])}
                     (or entity term) until))))
(defn answer [[what argument]]
  (case what
    "open" (do (some-> @node .close) (reset! node (xt/start-node {})) nil)
    "write" (write argument)
    "documents" (documents argument)
    "counts" (xt/attribute-stats @node)))
(doseq [line (line-seq (java.io.BufferedReader. *in*))]
  (println (json/write-str (try {:answer (answer (json/read-str line :key-fn keyword))}
                                (catch Throwable problem {:error (str problem)}))))
  (flush))
(System/exit 0)
"""


class Node:
    """A Java process, which ends when its input does: when it is closed, and however this process ends."""

    def __init__(self, jars: Path) -> None:
        command = ["java", *JVM, "-cp", f"{jars}/*", "clojure.main", "-e", NODE]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def call(self, what: str, argument: Any = None) -> Any:
        """Return what the node answers. Raises RuntimeError with its error."""
        print(json.dumps([what, argument]), file=self.process.stdin, flush=True)
        # Clojure prints what it has defined before it answers.
        lines = (line for line in self.process.stdout or () if line.startswith("{"))
        reply = json.loads(next(lines, '{"error": "XTDB has ended"}'))
        if "error" in reply:
            raise RuntimeError(reply["error"])
        return reply["answer"]


@cache
def node() -> Node:
    """Start the node of this process, from the jars of its environment."""
    return Node(Path(sys.prefix) / "jars")


class Xtdb(Memory):
    """options: live (the valid time is that of the transaction, one for each delivery, and T is the machine's time
    then), filtered (a document for each delivery, and a clause that compares the exact instant). Otherwise a document
    is valid from its publication. XTDB's times are milliseconds: a publication is rounded up, and T down.
    """

    bound: datetime | None = None

    def remember(self, rows: Rows) -> None:
        """Put the documents of each delivery in one transaction."""
        self.node = node()
        self.node.call("open")
        self.written: list[tuple[datetime, int]] = []
        for arrival, delivery in groupby(rows, key=lambda row: row["loaded_at"]):
            part = [row for row in delivery if self.options.get("live") or row["available_at"] is not None]
            operations = [self._put(row) for row in part]
            self.written.append((arrival, self.node.call("write", operations)))
            for row, (_, document, *valid) in zip(part, operations, strict=True):
                self.memories.append(((document, *(valid or self.written[-1][1:])), row))
            time.sleep(0.002)  # transactions are dated by the millisecond

    def _put(self, row: dict[str, Any]) -> list[Any]:
        public, delivery = row["available_at"], [str(len(self.written))] if self.options.get("filtered") else []
        document = {
            "xt/id": " / ".join([row["entity"], row["item"], *delivery]),
            **{name: row[name] for name in ("entity", "item", "value", "text")},
            "public": _micros(public) if public else EVER,
            "delivery": len(self.written),
        }
        is_dated = not self.options.get("live") and not self.options.get("filtered")
        return ["put", document, *([-(-_micros(public) // 1000)] if is_dated else [])]

    def forget(self, memories: list[Any]) -> None:
        """Correct the history: from when a document was valid, the one before it is, if there was one."""
        self.memories = [entry for entry in self.memories if entry[0] not in memories]
        operations = []
        for document, valid in memories:
            name = document["xt/id"]
            before = [
                (since, other) for (other, since), _ in self.memories if other["xt/id"] == name and since <= valid
            ]
            newest = max(before, key=lambda entry: (entry[0], entry[1]["delivery"]), default=None)
            operations.append(["put", newest[1], valid] if newest else ["delete", name, valid])
        self.node.call("write", operations)

    def erase(self, entity: str) -> None:
        """Evict the entity's documents."""
        names = {document["xt/id"] for (document, _), row in self.memories if row["entity"] == entity}
        self.node.call("write", [["evict", name] for name in sorted(names)])

    def ask(self, question: Question) -> Any:
        """Ask as of T, with what was written by `loaded_by` if that is stated. Statistics have no instant."""
        if question.kind == "counts":
            return self.node.call("counts")
        self.bound = read(question.loaded_by) if question.loaded_by else None
        return super().ask(question)

    def visible_by(self, at: datetime, loaded_by: datetime) -> Rows:
        """Return the documents at T of the database as it was at another instant."""
        return self.visible(at)

    def about(self, entity: str, *at: datetime | None) -> Iterable[str]:
        """Return the current text of each item of an entity."""
        return self._texts({"entity": entity}, *at)

    def found(self, term: str, at: datetime) -> Iterable[str]:
        """Return the current texts with a word, of all entities."""
        return self._texts({"term": term}, at)

    def _texts(self, sought: dict[str, str], *at: datetime | None) -> list[str]:
        asked: dict[str, Any] = {**sought, "until": EVER}
        if at:
            asked |= self._basis(at[0])
        if self.bound:
            asked["known"] = self._moment(self.bound)
            if not asked["known"]:
                return []
        found = sorted(self.node.call("documents", asked), key=lambda each: (each["public"], each["delivery"]))
        return list({(document["entity"], document["item"]): self.content(document) for document in found}.values())

    def _basis(self, at: datetime | None) -> dict[str, Any]:
        """Return what a configuration states for T, or for a null."""
        if self.options.get("filtered"):
            return {"until": at and _micros(at)}
        if not self.options.get("live"):
            return {"at": [at and _micros(at) // 1000]}
        exact = {"until": _micros(at)} if at and self.bound else {}
        return {"at": [at and self._moment(self.bound or at)], **exact}

    def _moment(self, at: datetime) -> int:
        """Return the time of the transaction of the last delivery up to an instant, or of none."""
        return max((done for arrival, done in self.written if arrival <= at), default=0)


def _micros(moment: datetime) -> int:
    return round(moment.timestamp() * 1_000_000)
