"""Both protocols feed one pipeline; stopping answers what is under way and keeps its deadline."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

import grpc
import httpx
import pytest

from otel_turns.errors import SourceError
from otel_turns.server.receiver import Receiver
from otel_turns.sources.reception import Limits
from tests.sources.fakes import FakeIntake
from tests.sources.requests import traces

GRPC: Any = grpc
TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
PROTOBUF = {"content-type": "application/x-protobuf"}
TIMEOUT = 30.0

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(work, 3 * TIMEOUT))


@pytest.fixture
def intake() -> FakeIntake:
    return FakeIntake()


def receiver_of(intake: FakeIntake, **options: Any) -> Receiver:
    ports: dict[str, Any] = {"grpc_port": 0, "http_port": 0}
    return Receiver(intake, **{**ports, **options})


async def over_grpc(receiver: Receiver, body: bytes, metadata: Any = ()) -> bytes:
    async with GRPC.aio.insecure_channel(f"127.0.0.1:{receiver.grpc_port}") as channel:
        return await channel.unary_unary(TRACES)(body, metadata=metadata, timeout=TIMEOUT)


async def over_http(receiver: Receiver, body: bytes, **headers: str) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False) as client:
        url = f"http://127.0.0.1:{receiver.http_port}/v1/traces"
        return await client.post(url, content=body, headers={**PROTOBUF, **headers}, timeout=TIMEOUT)


def test_both_protocols_feed_one_intake(intake: FakeIntake) -> None:
    async def use() -> None:
        async with receiver_of(intake) as receiver:
            assert await over_grpc(receiver, traces("by grpc")) == b""
            assert (await over_http(receiver, traces("by http"))).status_code == 200
            assert receiver.counts().accepted == 2

    run(use())
    assert intake.names == ["by grpc", "by http"]
    assert intake.closes == 1


def test_what_was_accepted_is_ticked(intake: FakeIntake) -> None:
    async def use() -> bool:
        async with receiver_of(intake) as receiver:
            await over_http(receiver, traces("a"))
            return await asyncio.to_thread(intake.ticked.wait, TIMEOUT)

    assert run(use())


@pytest.mark.parametrize("left_out", ["grpc_port", "http_port"])
def test_a_protocol_can_be_left_out(intake: FakeIntake, left_out: str) -> None:
    async def use() -> None:
        async with receiver_of(intake, **{left_out: None}) as receiver:
            assert getattr(receiver, left_out) is None
            if left_out == "grpc_port":
                await over_http(receiver, traces("a"))
            else:
                await over_grpc(receiver, traces("a"))

    run(use())
    assert intake.names == ["a"]


def test_the_token_and_the_limits_hold_for_both(intake: FakeIntake) -> None:
    async def use() -> None:
        async with receiver_of(intake, token="secret", limits=Limits(request=200)) as receiver:
            with pytest.raises(GRPC.aio.AioRpcError):
                await over_grpc(receiver, traces("a"))
            assert (await over_http(receiver, traces("a"))).status_code == 401
            await over_grpc(receiver, traces("a"), (("authorization", "Bearer secret"),))
            large = traces("large", attribute="x" * 200)
            assert (await over_http(receiver, large, authorization="Bearer secret")).status_code == 413
            with pytest.raises(GRPC.aio.AioRpcError):
                await over_grpc(receiver, large, (("authorization", "Bearer secret"),))

    run(use())
    assert intake.names == ["a"]


def test_ipv6_is_bound_too(intake: FakeIntake) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")

    async def use() -> None:
        async with receiver_of(intake, host="::1") as receiver, httpx.AsyncClient(trust_env=False) as client:
            url = f"http://[::1]:{receiver.http_port}/v1/traces"
            assert (await client.post(url, content=traces("a"), headers=PROTOBUF)).status_code == 200
            async with GRPC.aio.insecure_channel(f"[::1]:{receiver.grpc_port}") as channel:
                await channel.unary_unary(TRACES)(traces("b"), timeout=TIMEOUT)

    run(use())
    assert intake.names == ["a", "b"]


@pytest.mark.parametrize("port", ["grpc_port", "http_port"])
def test_a_taken_port_is_an_error_and_leaves_the_other_one_free(intake: FakeIntake, port: str) -> None:
    async def use() -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken, socket.create_server(("127.0.0.1", 0)) as free:
            other = "http_port" if port == "grpc_port" else "grpc_port"
            free_port = free.getsockname()[1]
            free.close()
            taken_port = taken.getsockname()[1]
            receiver = Receiver(intake, **{port: taken_port, other: free_port})
            with pytest.raises(SourceError, match=f"127.0.0.1:{taken_port}: "):
                await receiver.start()
            async with receiver_of(intake, **{other: free_port}):
                pass

    run(use())


def test_an_unknown_host_is_an_error(intake: FakeIntake) -> None:
    with pytest.raises(SourceError, match="cannot listen for HTTP on"):
        run(receiver_of(intake, host="256.256.256.256").start())


def test_stopping_answers_what_is_under_way(intake: FakeIntake) -> None:
    async def use() -> tuple[int, bool]:
        receiver = receiver_of(intake, drain_s=TIMEOUT)
        await receiver.start()
        loop = asyncio.get_running_loop()
        under_way, go_on = asyncio.Event(), threading.Event()

        def hold() -> None:
            loop.call_soon_threadsafe(under_way.set)
            go_on.wait(TIMEOUT)

        intake.on_accept = hold
        # Large, so that it is on a thread and the loop can go on.
        asking = asyncio.ensure_future(over_http(receiver, traces("a", attribute="x" * 300_000)))
        await under_way.wait()
        stopping = asyncio.ensure_future(receiver.stop())
        await asyncio.sleep(0)
        go_on.set()
        return (await asking).status_code, await stopping

    assert run(use()) == (200, True)
    assert (intake.names, intake.closes) == (["a"], 1)


def test_stopping_keeps_its_deadline(intake: FakeIntake) -> None:
    go_on = threading.Event()
    intake.on_flush = lambda: go_on.wait(TIMEOUT)

    async def use() -> tuple[bool, float]:
        receiver = receiver_of(intake)
        await receiver.start()
        loop = asyncio.get_running_loop()
        begun = loop.time()
        return await receiver.stop(0.1), loop.time() - begun

    kept, took = run(use())
    go_on.set()
    assert kept is False
    assert took < TIMEOUT / 2


def test_a_pipeline_that_fails_to_close_is_not_kept(intake: FakeIntake) -> None:
    def fail() -> None:
        raise ValueError("inside")

    intake.on_flush = fail

    async def use() -> bool:
        receiver = receiver_of(intake)
        await receiver.start()
        return await receiver.stop()

    assert run(use()) is False


def test_a_connection_that_never_ends_is_cut_at_the_deadline(intake: FakeIntake) -> None:
    async def use() -> bool:
        receiver = receiver_of(intake)
        await receiver.start()
        reader, writer = await asyncio.open_connection("127.0.0.1", receiver.http_port)
        writer.write(b"POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n")
        writer.write(b"content-length: 10\r\n\r\n{")
        await writer.drain()
        await over_http(receiver, traces("a"))  # the other connection's request is in by now
        kept = await receiver.stop(0.5)
        assert await asyncio.wait_for(reader.read(), TIMEOUT) is not None
        writer.close()
        return kept

    assert run(use()) is True
    assert intake.closes == 1
