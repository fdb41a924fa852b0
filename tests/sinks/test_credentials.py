"""Headers and tokens: where they come from, and that nobody sees them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from otel_turns.errors import SinkError
from otel_turns.sinks.credentials import Credentials, default_is_set


def test_there_are_none_unless_they_are_given() -> None:
    credentials = Credentials()
    assert credentials.headers() == {}
    assert not credentials
    assert not default_is_set()


def test_the_environment_gives_them_where_none_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TURNS_SINK_TOKEN", " sesame\n")
    monkeypatch.setenv("OTEL_TURNS_SINK_HEADERS", "X-Tenant=a%2Cb, x-team=blue")
    assert default_is_set()
    assert Credentials().headers() == {
        "authorization": "Bearer sesame",
        "x-tenant": "a,b",
        "x-team": "blue",
    }


def test_what_is_named_replaces_all_of_the_environments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TURNS_SINK_TOKEN", "sesame")
    monkeypatch.setenv("MINE", "open")
    assert Credentials(token_env="MINE").headers() == {"authorization": "Bearer open"}
    assert Credentials(headers={"x-team": "blue"}).headers() == {"x-team": "blue"}


def test_headers_may_stand_in_a_file_or_in_a_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "headers").write_text("X-Tenant: a: b\n\nx-empty:\n")
    monkeypatch.setenv("MINE", "x-team=blue")
    given = Credentials(headers_file=tmp_path / "headers", headers_env="MINE", headers={"X-Own": "1"})
    assert given.headers() == {"x-tenant": "a: b", "x-empty": "", "x-team": "blue", "x-own": "1"}


def test_a_token_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("first\n")
    credentials = Credentials(token_file=path)
    assert credentials.headers() == {"authorization": "Bearer first"}
    path.write_text("second\n")
    assert credentials.headers() == {"authorization": "Bearer second"}
    path.write_text("")  # being renewed: what was good stays good
    assert credentials.headers() == {"authorization": "Bearer second"}
    path.unlink()
    assert credentials.headers() == {"authorization": "Bearer second"}
    path.write_text("third")
    assert credentials.headers() == {"authorization": "Bearer third"}


def test_the_environment_may_name_the_token_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "token").write_text("sesame")
    monkeypatch.setenv("OTEL_TURNS_SINK_TOKEN_FILE", str(tmp_path / "token"))
    assert Credentials().headers() == {"authorization": "Bearer sesame"}
    monkeypatch.setenv("OTEL_TURNS_SINK_TOKEN", "sesame")
    with pytest.raises(SinkError, match="both"):
        Credentials()


def test_what_is_missing_or_no_header_is_an_error_that_names_the_place_and_hides_the_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMPTY", " ")
    monkeypatch.setenv("BROKEN", "secret\r\nx-evil: 1")
    monkeypatch.setenv("UMLAUT", "secret-ü")
    (tmp_path / "large").write_bytes(b"secret" * 20_000)
    (tmp_path / "binary").write_bytes(b"secret\xff")
    (tmp_path / "lines").write_text("secret header\n")
    cases: list[tuple[dict[str, str], str]] = [
        ({"token_env": "NOT_THERE"}, "NOT_THERE is not set"),
        ({"token_env": "EMPTY"}, "EMPTY is not set"),
        ({"token_env": "BROKEN"}, "BROKEN holds no bearer token"),
        ({"token_env": "UMLAUT"}, "UMLAUT holds no bearer token"),
        ({"token_file": str(tmp_path / "none")}, "cannot read the token file"),
        ({"token_file": str(tmp_path / "large")}, "too large"),
        ({"token_file": str(tmp_path / "binary")}, "other than ASCII"),
        ({"headers_file": str(tmp_path / "none")}, "cannot read the header file"),
        ({"headers_file": str(tmp_path / "lines")}, "name is not valid"),
        ({"headers_env": "BROKEN"}, "name is not valid"),
    ]
    for arguments, wanted in cases:
        with pytest.raises(SinkError, match=wanted) as caught:
            Credentials(**arguments)  # pyright: ignore[reportArgumentType] # no case gives `headers`
        assert "secret" not in str(caught.value).replace(os.fspath(tmp_path), "")
    with pytest.raises(SinkError, match="value of x-a holds characters"):
        Credentials(headers={"x-a": "secret\r\nx-evil: 1"})
    with pytest.raises(SinkError, match="set by the sink itself"):
        Credentials(headers={"Idempotency-Key": "mine"})


def test_they_are_not_in_the_repr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TURNS_SINK_TOKEN", "sesame")
    credentials = Credentials()
    assert repr(credentials) == "Credentials(authorization)"
    assert repr(Credentials(headers={"x-team": "blue"})) == "Credentials(x-team)"
