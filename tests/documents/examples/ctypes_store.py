from ctypes import *

library = CDLL("libnestline-c-store.so")

def function(name, result, *arguments):
    made = library["nestline_" + name]
    made.restype, made.argtypes = result, [*arguments, POINTER(c_char_p)]
    def call(*given):
        error = c_char_p()
        answer = made(*given, byref(error))
        if error:
            raise RuntimeError(error.value.decode())
        return answer
    return call

open_store = function("store_open", c_void_p, c_char_p, c_void_p)
put = function("store_put", c_bool, c_void_p, c_char_p, c_size_t, c_char_p, c_size_t)
get = function("store_get", c_void_p, c_void_p, c_char_p, c_size_t, POINTER(c_size_t))
erase = function("store_erase", c_bool, c_void_p, c_char_p, c_size_t)
checkpoint = function("store_checkpoint", c_bool, c_void_p)
library.nestline_free_bytes.argtypes = library.nestline_store_close.argtypes = [c_void_p]

class Store:
    def __init__(self, folder):
        self.handle = open_store(folder.encode(), None)

    def __setitem__(self, key, value):
        put(self.handle, key, len(key), value, len(value))

    def __getitem__(self, key):
        size = c_size_t()
        value = get(self.handle, key, len(key), byref(size))
        if not value:
            raise KeyError(key)
        try:
            return string_at(value, size.value)
        finally:
            library.nestline_free_bytes(value)

    def __delitem__(self, key):
        if not erase(self.handle, key, len(key)):
            raise KeyError(key)

    def close(self):
        checkpoint(self.handle)  # raises what close cannot report
        library.nestline_store_close(self.handle)

store = Store("users.db")
store[b"user:17"] = "Ada".encode()
print(store[b"user:17"].decode())
del store[b"user:17"]
store.close()
