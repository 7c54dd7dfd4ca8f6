# Needs nestline on the PATH, and the files records.tsv, keys and photo.
nestline store put users.db user:17 Ada
nestline store get users.db user:17
nestline store load users.db < records.tsv   # lines KEY<TAB>VALUE
nestline store mget users.db keys            # a key a line; prints KEY<TAB>VALUE
nestline store import files.db photo         # equal pieces of all files are stored once
nestline store export files.db photo -o copy
nestline store stats users.db
