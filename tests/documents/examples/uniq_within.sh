# Needs nestline on the PATH, and the files deliveries and later, of a queue that delivers some twice.
nestline uniq --within 24h deliveries                     # each delivery once in a day
tail -n +1 deliveries | nestline uniq --within 10m        # from a stream: each line as it comes
nestline uniq --within 24h --state seen.nuq deliveries    # and remembers them for the next run
nestline uniq --state seen.nuq later                      # what was not delivered in the last 24 hours
nestline uniq -d --within 24h deliveries                  # those that came twice, each once a day
