# Needs a server that has loaded the module.
redis-cli CF.RESERVE seen 1000000 ERROR 0.001
redis-cli CF.INSERT seen ITEMS user:17 user:18
redis-cli CF.MEXISTS seen user:17 user:99
