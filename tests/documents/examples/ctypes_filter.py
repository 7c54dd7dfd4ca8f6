from ctypes import *

class Options(Structure):
    _fields_ = [("struct_size", c_size_t), ("capacity", c_uint64), ("max_capacity", c_uint64),
                ("seed", c_uint64), ("fpr", c_double), ("bits", c_int), ("turns_over", c_int),
                ("load", c_double)]

class Keys(Structure):
    _fields_ = [("kind", c_int), ("count", c_size_t), ("keys", c_void_p), ("offsets", c_void_p),
                ("buffer_bytes", c_size_t)]

    def __init__(self, integers):  # an array of c_uint64
        super().__init__(4, len(integers), cast(integers, c_void_p))

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
insert_all = function("insert_batch", c_uint64, c_void_p, Keys, c_void_p)
ask_all = function("may_contain_batch", c_uint64, c_void_p, Keys, c_void_p)
library.nestline_free.argtypes = [c_void_p]

filter = create(Options(struct_size=sizeof(Options), capacity=1_000_000, fpr=0.01))
insert(filter, b"user:17", 7)
seen, asked, found = (c_uint64 * 1)(17), (c_uint64 * 2)(17, 18), (c_bool * 2)()
insert_all(filter, Keys(seen), None)
ask_all(filter, Keys(asked), found)
print(may_contain(filter, b"user:17", 7), may_contain(filter, b"user:18", 7), count(filter, 17))
print("maybe:", list(found))
library.nestline_free(filter)
