# Writes graph.csv, counts.csv, wide.mtx and cells.mtx, the same each time.
import random
random.seed(20261129)
n, groups = 2000, 20
rows = [[0] * n for _ in range(n)]
for i in range(n):
    for j in range(i):
        if random.random() < (0.1 if i % groups == j % groups else 0.002):
            rows[i][j] = rows[j][i] = 1
with open('graph.csv', 'w') as f:
    for row in rows:
        f.write(','.join(map(str, row)) + '\n')
with open('counts.csv', 'w') as f:
    for i in range(3000):
        f.write(','.join(str(random.randint(1, 5)) if random.random() < (0.1 if i % 15 == j % 15 else 0.015) else '0' for j in range(1000)) + '\n')
def points(name, items, features, each):
    lines = []
    for i in range(1, items + 1):
        some = set()
        while len(some) < each:
            some.add(int(random.random() ** 2 * features / 8) * 8 + (i % 8 if random.random() < 0.5 else random.randrange(8)))
        lines += ['%d %d %d\n' % (i, j + 1, random.randint(1, 9)) for j in sorted(some) if j < features]
    with open(name, 'w') as f:
        f.write('%%%%MatrixMarket matrix coordinate integer general\n%d %d %d\n' % (items, features, len(lines)))
        f.writelines(lines)
points('wide.mtx', 300, 100000, 600)
points('cells.mtx', 1000, 60000, 1300)
