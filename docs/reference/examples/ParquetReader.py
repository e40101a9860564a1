import pyarrow
import pyarrow.parquet
import pyflowdata as flow

table = pyarrow.table({"text": ["a", "bc", "d"], "n": [1, 2, 3]})
pyarrow.parquet.write_table(table, "x.parquet", row_group_size=2)
text, n = flow.ParquetReader(files="x.parquet", columns=["text", "n:int64"], batch_size=3)
with flow.DataLoader(text, n) as loader:
    for texts, numbers in loader:
        print(texts.to_bytes_list(), numbers)

# [b'a', b'bc', b'd'] [1 2 3]
