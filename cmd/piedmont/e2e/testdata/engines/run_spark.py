"""Spark. SETTINGS are lines of spark-defaults.conf, JARS what goes on its class path."""

import os

from driver import serve
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[2]").config("spark.jars", os.environ["JARS"])
for line in os.environ["SETTINGS"].splitlines():
    if line.strip() and not line.startswith("#"):
        builder = builder.config(*line.split(maxsplit=1))
for name, value in {
    "spark.driver.memory": "1g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
}.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
serve(lambda sql: spark.sql(sql).collect())
spark.stop()
