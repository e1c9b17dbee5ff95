"""Stores the skills of a decision on its tape, so that a replay reads the same texts even if the skills changed."""

import base64
import json
import tempfile
from pathlib import Path

from forge.core.skill_loader import WHOLE, SkillLoader
from forge.core.tape import Tape
from pitlake.recorder import canonical, digest

SKILLS = "skills"


def keep_skills(tape: Tape, decision: str, own: Path | None, *, record: bool) -> Path | None:
    """Return a folder with exactly the skills that a decision started with.

    Args:
        tape: The tape. The folder is next to it.
        decision: The decision's name.
        own: The PM's folder of skills, used if the tape has no skills for the decision.
        record: Whether to record the skills in this case; otherwise `own` is returned.
    """
    recorded = tape.contents(decision).get(SKILLS)
    if recorded is None:
        if not record:
            return own
        files = {
            f"{name}/{path.relative_to(meta.path).as_posix()}": base64.b64encode(path.read_bytes()).decode()
            for name, meta in SkillLoader(own).index.items()
            for path in meta.path.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }
        recorded = tape.keep_content(decision, SKILLS, canonical(files))
    folder = tape.place.with_name(f"{tape.place.name}-skills")
    place = folder / digest(recorded)
    if not place.is_dir():
        folder.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as draft:
            new = Path(draft) / place.name
            for name, text in json.loads(recorded).items():
                file = new / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(base64.b64decode(text))
            (new / WHOLE).touch()
            try:
                new.rename(place)
            except OSError:
                if not place.is_dir():  # Another process created the folder first.
                    raise
    return place
