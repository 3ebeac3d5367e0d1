"""The inner side of every runtime: build the service that a target names, and answer its requests one after the other.

What was raised inside leaves as data (a ``FAULT`` body), so that the caller can tell it from a lost sandbox.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from importlib import import_module
from socket import socket
from typing import Any

from .frames import Frame, Kind, Parser, encode
from .session import Json, SandboxFault, Service, Target

FAULT_TEXT = 20_000
"""Characters of a message or traceback that are passed on; of more, the end is kept."""


def build(target: Target) -> Service:
    """Import and construct the service, and warm it.

    Raises:
        Exception: Whatever the import, the constructor or ``warm`` raise.
    """
    module, _, name = target.factory.partition(":")
    service = getattr(import_module(module), name)(**target.arguments)
    service.warm()
    return service


def describe(error: BaseException) -> Json:
    """Return an exception as the body of a ``FAULT``."""
    text = "".join(traceback.format_exception(error))
    return {"type": type(error).__name__, "message": str(error)[-FAULT_TEXT:], "traceback": text[-FAULT_TEXT:]}


def fault(body: Mapping[str, Any]) -> SandboxFault:
    """Return the exception that a ``FAULT`` body describes."""
    return SandboxFault(f"{body.get('type')}: {body.get('message')}", str(body.get("traceback", "")))


def answer(service: Service, request: Frame) -> bytes:
    """Carry out one request; return the bytes of its reply."""
    try:
        reply = service.handle(request.body["operation"], request.body["payload"])
        return encode(Frame(Kind.OK, request.id, reply))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the service raises is data for the caller
        return encode(Frame(Kind.FAULT, request.id, describe(error)))


def serve(connection: socket, service: Service) -> None:
    """Answer requests until the other side closes the connection.

    Raises:
        FrameError: If the other side does not speak the protocol.
        OSError: If the connection broke.
    """
    parser = Parser()
    while data := connection.recv(1 << 18):
        parser.feed(data)
        while (request := parser.take()) is not None:
            connection.sendall(answer(service, request))
