import pyflowdata as flow

print([int(one) for one in flow.DecodeClass([b"3", b" 17\n"])])

# [3, 17]
