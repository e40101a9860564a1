import pyflowdata as flow

print(flow.ToNumber(b" -12 ", dtype="int32"))
print(flow.ToNumber(b"1.5e3", dtype="float32"))

# -12
# 1500.0
