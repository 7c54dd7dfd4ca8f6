import nestline

with nestline.Store("users.db") as users:
    users["user:17"] = "Ada"
    print(users["user:17"].decode(), "user:18" in users)
    users.write({"user:18": "Bob", "user:17": None})  # all or nothing
    print(users.get_many(["user:17", "user:18"]), len(users))
