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
from reference_server.engine.process_client import ProcessClient
from reference_server.text.load import load_text

if TYPE_CHECKING:
    from reference_server.config import ServerConfig

ABORT_TIMEOUT_S = 2.0

_logger = logging.getLogger(__name__)


def serve(config: ServerConfig) -> int:
    """Serve until SIGTERM or SIGINT.

    Returns:
        Exit code: 0 after an orderly stop, 1 if it could not start, 128 + signal if stopped while loading.
    """
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            return runner.run(_serve(config))
        except (AddressError, EngineDeadError) as error:
            sys.stderr.write(f"error: {error}\n")
            return 1


async def _serve(config: ServerConfig) -> int:
    signals = StopSignals()
    bound = bind(config.host, config.port)
    client = ProcessClient(config.engine_config())
    try:
        context = await signals.unless_stopped(_load(config, client))
        http = HttpServer(create_app(context, config.api_key))
        serving = asyncio.create_task(http.listen(bound))
        await http.until_started(serving)
        _announce(context, url(config.host, bound.getsockname()[1]))
        await asyncio.wait(
            {serving, asyncio.create_task(signals.wait())}, return_when=asyncio.FIRST_COMPLETED
        )
        await _drain(context, config.shutdown_timeout)
        http.should_exit = True
        await serving
    except StoppedError:
        assert signals.received is not None
        return 128 + signals.received
    finally:
        await client.close()
        bound.close()
    return 0


async def _load(config: ServerConfig, client: ProcessClient) -> Context:
    """Load the engine in its process and, meanwhile, what deals with text here."""
    text, info = await asyncio.gather(asyncio.to_thread(load_text, config.model), client.start())
    names = tuple(config.served_model_name) or (config.model,)
    admission = Admission(config.max_num_seqs, config.max_num_queued_reqs, lambda: client.stats)
    metrics = ServerMetrics(names[0], info, lambda: client.stats, lambda: admission.num_rejections)
    client.on_step = metrics.on_step
    context = Context(
        model_names=names,
        model_path=config.model,
        client=client,
        info=info,
        tokenizer=text.tokenizer,
        chat_template=text.chat_template,
        admission=admission,
        metrics=metrics,
        version=importlib.metadata.version("tokenpace"),
    )
    gc.collect()
    gc.freeze()
    return context


def _announce(context: Context, address: str) -> None:
    sys.stdout.write(banner(context.model_names, context.info, address, context.version))
    sys.stdout.flush()


async def _drain(context: Context, timeout_s: float) -> None:
    """Let those inside finish; after ``timeout_s`` end them as aborted."""
    if context.admission.num_requests:
        _logger.info("finishing %d requests, at most %g s", context.admission.num_requests, timeout_s)
    if not await context.admission.drain(timeout_s):
        _logger.warning("%d requests were not finished in time: aborted", context.admission.num_requests)
        await context.client.close()
        await context.admission.drain(ABORT_TIMEOUT_S)
