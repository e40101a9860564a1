import pyflowdata as flow

days = [b"2024-02-29", b"2024-03-01 12:30:00+02:00"]
print([int(row) for row in flow.ParseDate(days)])
print([int(row) for row in flow.ParseDate(days, unit="weekday")])
print(flow.ParseDate(b"29/02/2024", format="%d/%m/%Y", unit="days"))

# [1709164800, 1709289000]
# [3, 4]
# 19782
