"""The replay server itself: what it plays is what a client gets."""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING

import pytest
from support.replay_server import CHUNKED_HEAD, Ending, Replay, after, chunked, in_pieces, split_at, whole
from support.timetable_process import Client

if TYPE_CHECKING:
    from support.replay_server import ReplayServer

BODY = b'data: {"a": 1}\n\ndata: [DONE]\n\n'


def test_bytes_are_played_as_given(replay_server: ReplayServer) -> None:
    replay_server.play(Replay(pieces=after(0, in_pieces(BODY, 1))))
    with Client(replay_server.port) as client:
        client.request("POST", "/x", b"hello")
        assert client.read().body == BODY
    assert replay_server.received[0].body == b"hello"


def test_delays_are_kept(replay_server: ReplayServer) -> None:
    replay_server.play(Replay(CHUNKED_HEAD, after(0.03, chunked(split_at(BODY, 4, 9)))))
    began = time.monotonic()
    with Client(replay_server.port) as client:
        client.request("GET", "/x")
        assert client.read().body == BODY
    assert time.monotonic() - began >= 0.12


def test_replays_in_turn_on_one_connection(replay_server: ReplayServer) -> None:
    replay_server.play(whole(b"1"), whole(b"2", "429 Too Many Requests", "text/plain", "Retry-After: 1"))
    with Client(replay_server.port) as client:
        for _ in range(3):
            client.request("GET", "/x")
        answers = [client.read() for _ in range(3)]
    assert [(each.status, each.body) for each in answers] == [(200, b"1"), (429, b"2"), (429, b"2")]
    assert replay_server.num_connections == 1


def test_reset(replay_server: ReplayServer) -> None:
    replay_server.play(Replay(CHUNKED_HEAD, after(0, [b"5\r\nhel"]), Ending.RESET))
    with Client(replay_server.port) as client:
        client.request("GET", "/x")
        assert client.read().is_reset


def test_stall_lasts_until_the_client_leaves(replay_server: ReplayServer) -> None:
    replay_server.play(Replay(b"", (), Ending.STALL))
    with socket.create_connection(("127.0.0.1", replay_server.port)) as client:
        client.sendall(b"GET / HTTP/1.1\r\n\r\n")
        client.settimeout(0.1)
        with pytest.raises(TimeoutError):
            client.recv(1)
