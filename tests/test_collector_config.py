"""The ready Collector configurations are whole: every component that a pipeline names is there, and used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

FOLDER = Path(__file__).parents[1] / "collector-config"
FILES = sorted(FOLDER.glob("*.yaml"))


def test_there_are_some() -> None:
    assert FILES


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_pipelines_name_what_is_configured(path: Path) -> None:
    config: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    pipelines: list[Any] = list(config["service"]["pipelines"].values())
    for kind in ("receivers", "processors", "exporters"):
        named = {name for pipeline in pipelines for name in pipeline.get(kind, [])}
        assert named == set(config.get(kind, {}))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_both_signals_go_to_turns_since_agents_use_both(path: Path) -> None:
    config: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert set(config["service"]["pipelines"]) == {"traces", "logs"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_nothing_listens_to_other_machines(path: Path) -> None:
    config: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    protocols = config["receivers"]["otlp"]["protocols"].values()
    assert all(protocol["endpoint"].startswith("127.0.0.1:") for protocol in protocols)
