from ctypes import *

class Options(Structure):
    _fields_ = [("struct_size", c_size_t), ("capacity", c_uint64), ("max_capacity", c_uint64),
                ("seed", c_uint64), ("fpr", c_double), ("bits", c_int), ("reserved", c_int),
                ("load", c_double)]

library = CDLL("libnestline-c.so")

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

create = function("create", c_void_p, POINTER(Options))
insert = function("insert_bytes", c_bool, c_void_p, c_char_p, c_size_t)
may_contain = function("may_contain_bytes", c_bool, c_void_p, c_char_p, c_size_t)
count = function("count_u64", c_uint64, c_void_p, c_uint64)
insert_all = function("insert_batch_u64", c_uint64, c_void_p, c_void_p, c_size_t, c_void_p)
ask_all = function("may_contain_batch_u64", c_uint64, c_void_p, c_void_p, c_size_t, c_void_p)
library.nestline_free.argtypes = [c_void_p]

filter = create(Options(struct_size=sizeof(Options), capacity=1_000_000, fpr=0.01))
insert(filter, b"user:17", 7)
keys, found = (c_uint64 * 2)(17, 18), (c_bool * 2)()
insert_all(filter, keys, 1, None)
ask_all(filter, keys, 2, found)
print(may_contain(filter, b"user:17", 7), may_contain(filter, b"user:18", 7), count(filter, 17))
print("maybe:", list(found))
library.nestline_free(filter)
