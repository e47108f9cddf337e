"""One Spark session for all tests here, and a session of Spark Connect to the same cluster.

`make test-spark` runs these tests; elsewhere they are skipped, because Spark needs Java and is large.
"""

from __future__ import annotations

import os
import socket
import sys
import warnings

import pytest

LOG = """
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {path}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %p %c: %m%n%ex
"""


@pytest.fixture(scope="session")
def log(tmp_path_factory):
    """The file that Spark's driver and its executors log to."""
    return tmp_path_factory.mktemp("spark") / "log.txt"


@pytest.fixture(scope="session")
def port():
    with socket.socket() as free:
        free.bind(("localhost", 0))
        return free.getsockname()[1]


@pytest.fixture(scope="session")
def classic(log, port, tmp_path_factory):
    """A session in this process, whose cluster has places for two tasks and serves Spark Connect, too."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    properties = log.with_name("log4j2.properties")
    properties.write_text(LOG.format(path=log))
    warnings.filterwarnings("ignore", module="pyspark")
    settings = {
        "spark.driver.extraJavaOptions": f"-XX:+UseSerialGC -XX:TieredStopAtLevel=1 "
        f"-Dlog4j2.configurationFile=file:{properties}",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.port": str(port),
    }
    builder = SparkSession.builder.master("local[2]").appName("tests of privfit")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def connect(classic, port):
    """A client of the same cluster that has no driver of its own."""
    from pyspark.sql.connect.session import SparkSession

    session = SparkSession.builder.remote(f"sc://localhost:{port}").create()
    yield session
    session.stop()


@pytest.fixture
def spark(request):
    """The session that a test is parametrised with, by its name."""
    return request.getfixturevalue(request.param)
