"""Flag beats environment beats file beats default; unknown names and wrong values are errors that help."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from otel_turns.config import ENV_ONLY, Secret, Settings, describe, load, parse_bytes, parse_seconds
from otel_turns.errors import ConfigError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "turns.yaml"
    path.write_text("linger: 7s\nidle: 30\nusage_basis: exclusive\nsink: [a.jsonl, '-']\n", encoding="utf-8")
    return path


def test_flag_beats_environment_beats_file_beats_default(file: Path) -> None:
    loaded = load(
        {"linger": "1s", "max_age": None},
        env={"OTEL_TURNS_LINGER": "2s", "OTEL_TURNS_IDLE": "20s"},
        file=file,
    )
    assert loaded.settings.linger == 1.0
    assert loaded.settings.idle == 20.0
    assert loaded.settings.usage_basis == "exclusive"
    assert loaded.settings.max_age == 600.0
    names = ("linger", "idle", "usage_basis", "max_age")
    assert [loaded.origins[name] for name in names] == ["flag", "env", "file", "default"]


def test_nothing_given_is_the_defaults() -> None:
    assert load(env={}).settings == Settings()


def test_environment_names_the_file(file: Path) -> None:
    loaded = load(env={"OTEL_TURNS_CONFIG": str(file)})
    assert loaded.settings.linger == 7.0
    assert loaded.settings.sink == ("a.jsonl", "-")
    assert loaded.file == file


def test_sinks_of_the_environment_stand_between_commas() -> None:
    settings = load(env={"OTEL_TURNS_SINK": "a.jsonl, https://evals.example/turns"}).settings
    assert settings.sink == ("a.jsonl", "https://evals.example/turns")


def test_empty_variable_is_not_given() -> None:
    assert load(env={"OTEL_TURNS_LINGER": ""}).settings.linger == 2.0


def test_variables_of_others_are_left_alone() -> None:
    assert load(env={"OTEL_EXPORTER_OTLP_ENDPOINT": "x", "PATH": "y"}).settings == Settings()


def test_unknown_variable_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"OTEL_TURNS_LINGR is unknown: did you mean OTEL_TURNS_LINGER\?"):
        load(env={"OTEL_TURNS_LINGR": "3"})


def test_variables_of_sinks_are_known_and_no_settings() -> None:
    env = {f"OTEL_TURNS_{name.upper()}": "x" for name in ENV_ONLY if name != "config"}
    assert load(env=env).settings == Settings()
    with pytest.raises(ConfigError, match=r"did you mean OTEL_TURNS_SINK_TOKEN\?"):
        load(env={"OTEL_TURNS_SINK_TOKN": "x"})


def test_every_variable_that_the_package_reads_is_known() -> None:
    package = Path(__file__).parents[1] / "otel_turns"
    source = "".join(path.read_text(encoding="utf-8") for path in package.rglob("*.py"))
    names = {name.lower() for name in re.findall(r"OTEL_TURNS_([A-Z_]+[A-Z])", source)}
    assert names <= {*Settings.__dataclass_fields__, *ENV_ONLY}


def test_unknown_key_of_the_file_is_refused_with_file_and_nearest(tmp_path: Path) -> None:
    path = tmp_path / "turns.yaml"
    path.write_text("max-agee: 3\n", encoding="utf-8")
    with pytest.raises(
        ConfigError, match=r"turns\.yaml: setting 'max-agee' is unknown: did you mean max_age\?"
    ):
        load(env={}, file=path)


def test_unknown_key_that_resembles_nothing_points_to_the_list() -> None:
    with pytest.raises(ConfigError, match="`otel-turns config` lists"):
        load(env={"OTEL_TURNS_ZZZZZZZZZZ": "3"})


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("USAGE_BASIS", "other", "expected reported or exclusive, not 'other'"),
        ("BARE", "maybe", "expected true or false"),
        ("GRPC_PORT", "four", "expected a whole number"),
        ("LINGER", "soon", "expected a time such as 2s, 500ms or 10m"),
        ("BUDGET", "20 parsecs", "expected a size such as 20MiB"),
        ("SINK", "a.jsonl,,", "expected a list of texts"),
    ],
)
def test_wrong_value_is_refused_with_name_and_form(name: str, value: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=f"OTEL_TURNS_{name}: {reason}"):
        load(env={f"OTEL_TURNS_{name}": value})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("linger: [1]", "expected a time"),
        ("linger: true", "expected a number"),
        ("sink: {a: b}", "expected text or a list of texts"),
        ("sink: [1]", "expected a list of texts"),
        ("host: 1", "expected text"),
        ("- linger", "expected settings as `name: value`, found list"),
        ("a: b: c", "not valid YAML"),
    ],
)
def test_wrong_file_is_refused_with_its_name(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "turns.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"turns\.yaml: .*{reason}|turns\.yaml: {reason}"):
        load(env={}, file=path)


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.yaml: cannot read the configuration"):
        load(env={}, file=tmp_path / "none.yaml")


def test_empty_file_and_empty_value_are_not_given(tmp_path: Path) -> None:
    path = tmp_path / "turns.yaml"
    for text in ("", "linger:\n"):
        path.write_text(text, encoding="utf-8")
        assert load(env={}, file=path).origins["linger"] == "default"


def test_yaml_file_without_yaml_says_what_to_install(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "yaml", None)
    with pytest.raises(ConfigError, match=r"pip install 'otel_turns\[server\]'"):
        load(env={}, file=file)


def test_secrets_are_never_shown() -> None:
    loaded = load({"sink": ["https://me:hunter2@evals.example/turns"]}, env={"OTEL_TURNS_TOKEN": " s3cret\n"})
    assert loaded.settings.token == Secret("s3cret")
    assert loaded.settings.token is not None
    assert loaded.settings.token.reveal() == "s3cret"
    everything = f"{loaded} {loaded.shown()} {loaded.settings.token}"
    assert "s3cret" not in everything
    assert "hunter2" not in str(loaded.shown())


def test_wrong_secret_is_not_quoted() -> None:
    with pytest.raises(ConfigError) as caught:
        load({"sink": "https://me:hunter2@evals.example,,"}, env={})
    assert "hunter2" not in str(caught.value)


def test_token_comes_from_the_setting_or_its_file(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("s3cret\n", encoding="utf-8")
    assert load(env={}).settings.bearer_token() is None
    assert load(env={"OTEL_TURNS_TOKEN_FILE": str(path)}).settings.bearer_token() == "s3cret"
    both = load(env={"OTEL_TURNS_TOKEN_FILE": str(path), "OTEL_TURNS_TOKEN": "other"}).settings
    assert both.bearer_token() == "other"


@pytest.mark.parametrize(
    ("content", "reason"), [(None, "cannot read the token"), (" \n", "the token is empty")]
)
def test_token_file_that_holds_none_lets_nobody_in(tmp_path: Path, content: str | None, reason: str) -> None:
    path = tmp_path / "token"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError, match=reason):
        load({"token_file": path}, env={}).settings.bearer_token()


def test_every_setting_says_what_it_means() -> None:
    assert all(describe().values())
    assert describe().keys() == load(env={}).shown().keys()


@pytest.mark.parametrize(
    ("text", "seconds"), [("2", 2), ("500ms", 0.5), ("1.5s", 1.5), ("10m", 600), ("1h", 3600)]
)
def test_times_have_units(text: str, seconds: float) -> None:
    assert parse_seconds(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "size"), [("10", 10), ("20MiB", 20 * 1024**2), ("1 GB", 10**9), ("1.5kib", 1536), ("7b", 7)]
)
def test_sizes_have_units(text: str, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize("text", ["", "-1", "1e3", "nan", "2 days", "s"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a time"):
        parse_seconds(text)
