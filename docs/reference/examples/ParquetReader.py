import pyarrow
import pyarrow.parquet
import pyflowdata as flow

table = pyarrow.table({"text": ["a", "bc", "d"], "n": [1, 2, 3]})
pyarrow.parquet.write_table(table, "x.parquet", row_group_size=2)
data = flow.open("x.parquet")
print(data.fields["n"].type, [row["text"] for row in data])
print(len(flow.open("x.parquet", row_groups_where="n > 2")))

# int64 [b'a', b'bc', b'd']
# 1
