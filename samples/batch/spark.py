"""A pipeline in Spark, by `predict_batch_udf`. Needs pyspark, pandas and a Java runtime.

python samples/batch/spark.py
"""

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from pyspark.ml.functions import predict_batch_udf
from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, FloatType

import tracepack

head = tracepack.script(torch.nn.Linear(4, 3))
path = Path(tempfile.mkdtemp()) / "head.tpk"
tracepack.trace(lambda x: head(x).softmax(-1), torch.rand(2, 4)).save(path)
mod = tracepack.load(path)


def predictor():
    """Called once in each worker, to which Spark pickles `mod`."""
    torch.set_num_threads(1)  # Spark runs a worker on each core
    return lambda x: mod.run({"x": np.ascontiguousarray(x)}).numpy()


os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # by itself Spark takes the python3 of PATH
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
predict = predict_batch_udf(predictor, return_type=ArrayType(FloatType()), batch_size=64, input_tensor_shapes=[[4]])
rows = torch.rand(100, 4)
frame = spark.createDataFrame([(row,) for row in rows.tolist()], "x array<float>")
found = frame.withColumn("scores", predict("x")).collect()
scores = torch.tensor([row["scores"] for row in found])
wanted = mod.run({"x": torch.tensor([row["x"] for row in found])})
print("Spark:", len(found), "rows, as in this process:", torch.allclose(scores, wanted, atol=1e-6))
spark.stop()
