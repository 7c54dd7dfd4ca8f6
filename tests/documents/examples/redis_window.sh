# Needs a server that has loaded the module.
redis-cli CF.RESERVE delivered 1000000 ERROR 0.002 WINDOW 600
redis-cli CF.INSERT delivered NOCREATE ITEMS order:17
redis-cli CF.INSERT delivered NOCREATE ITEMS order:18 order:17
redis-cli CF.ADD delivered probe:1 EX 60
