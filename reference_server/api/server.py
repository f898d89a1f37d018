"""Start everything, serve, and stop in good order."""

from __future__ import annotations

import asyncio
import gc
import importlib.metadata
import logging
import sys
from typing import TYPE_CHECKING

import uvloop

from reference_server.api.admission import Admission
from reference_server.api.app import create_app
from reference_server.api.banner import banner
from reference_server.api.context import Context
from reference_server.api.http_server import HttpServer
from reference_server.api.listening import AddressError, bind, url
from reference_server.api.server_metrics import ServerMetrics
from reference_server.api.stop_signals import StoppedError, StopSignals
from reference_server.engine.client import EngineDeadError
from reference_server.engine.make_client import make_client
from reference_server.models.errors import ModelError
from reference_server.text.errors import TextError
from reference_server.text.load import load_text

if TYPE_CHECKING:
    import socket

    from reference_server.config import ServerConfig
    from reference_server.engine.loop_client import LoopClient

ABORT_TIMEOUT_S = 2.0

_logger = logging.getLogger(__name__)


def serve(config: ServerConfig) -> int:
    """Serve until SIGTERM or SIGINT.

    Returns:
        Exit code: 0 after an orderly stop, 1 if it could not start, 128 + signal if stopped while loading.
    """
    logging.basicConfig(
        level=config.log_level.upper(), format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr
    )
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            return runner.run(_serve(config))
        except (AddressError, EngineDeadError, ModelError, TextError) as error:
            sys.stderr.write(f"Error: {error}\n")
            return 1


async def _serve(config: ServerConfig) -> int:
    signals = StopSignals()
    bound = bind(config.host, config.port)
    client = make_client(config.engine_client, config.to_engine_config())
    try:
        context = await signals.unless_stopped(_load(config, client))
        await _serve_until_stopped(config, context, signals, bound)
    except StoppedError:
        assert signals.received is not None
        return 128 + signals.received
    finally:
        await client.close()
        bound.close()
    return 0


async def _serve_until_stopped(
    config: ServerConfig, context: Context, signals: StopSignals, bound: socket.socket
) -> None:
    api_key = config.api_key.get_secret_value() if config.api_key is not None else None
    http = HttpServer(create_app(context, api_key, dev_mode=config.server_dev_mode))
    serving = asyncio.create_task(http.listen(bound))
    stopping = asyncio.create_task(signals.wait())
    await http.until_started(serving)
    address = url(config.host, bound.getsockname()[1])
    sys.stdout.write(banner(context.model_names, context.info, address, context.version))
    sys.stdout.flush()
    await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    await _drain(context, config.shutdown_timeout)
    http.should_exit = True
    await serving
    context.text_pool.shutdown()


async def _load(config: ServerConfig, client: LoopClient) -> Context:
    """Load the engine and, meanwhile, what deals with text here."""
    model = config.to_engine_config().model
    (tokenizer, chat_template), info = await asyncio.gather(
        asyncio.to_thread(load_text, model), client.start()
    )
    admission = Admission(config.max_num_seqs, config.max_num_queued_reqs, lambda: client.stats)
    metrics = ServerMetrics(
        config.model_names[0], info, lambda: client.stats, lambda: admission.num_rejections
    )
    client.on_step = metrics.on_step
    context = Context(
        model_names=config.model_names,
        model_path=config.model,
        client=client,
        info=info,
        tokenizer=tokenizer,
        chat_template=chat_template,
        admission=admission,
        metrics=metrics,
        version=importlib.metadata.version("tokenpace"),
    )
    gc.collect()
    gc.freeze()
    return context


async def _drain(context: Context, timeout_s: float) -> None:
    """Let those inside finish; after ``timeout_s`` end them as aborted."""
    if context.admission.num_requests:
        _logger.info("finishing %d requests, at most %g s", context.admission.num_requests, timeout_s)
    if not await context.admission.drain(timeout_s):
        _logger.warning("%d requests were not finished in time: aborted", context.admission.num_requests)
        await context.client.close()
        await context.admission.drain(ABORT_TIMEOUT_S)
