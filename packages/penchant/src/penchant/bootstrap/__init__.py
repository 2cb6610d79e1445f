"""Composition root: opens and wires everything once for each process, and closes it in reverse."""

from penchant.bootstrap.folders import (
    ERRORS_FILE,
    METRICS_FOLDER,
    METRICS_LOCK,
    data_folder,
    database_name,
    index_folder,
    kernel_folder,
    server_options,
    shared_metrics,
    start_log,
    storage_of,
)
from penchant.bootstrap.processes import (
    COLLECTING,
    BuilderCall,
    builders_of,
    fork_builds,
    open_apart,
    run_builder,
    run_helper,
    start_compiling,
    web_application,
    worker_application,
)
from penchant.bootstrap.services import HOUSEKEEPING_LOCK, open_services

__all__ = (
    "COLLECTING",
    "ERRORS_FILE",
    "HOUSEKEEPING_LOCK",
    "METRICS_FOLDER",
    "METRICS_LOCK",
    "BuilderCall",
    "builders_of",
    "data_folder",
    "database_name",
    "fork_builds",
    "index_folder",
    "kernel_folder",
    "open_apart",
    "open_services",
    "run_builder",
    "run_helper",
    "server_options",
    "shared_metrics",
    "start_compiling",
    "start_log",
    "storage_of",
    "web_application",
    "worker_application",
)
