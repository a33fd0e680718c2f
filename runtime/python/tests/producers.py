"""Producers of DLPack: arrays that show nothing else, and capsules made by hand."""

import ctypes

VERSIONED, LEGACY = b"dltensor_versioned", b"dltensor"

new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
name_of = ctypes.pythonapi.PyCapsule_GetName
name_of.restype = ctypes.c_char_p
name_of.argtypes = [ctypes.py_object]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    ]


class Managed(ctypes.Structure):
    _fields_ = [
        ("dl_tensor", DLTensor),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("dl_tensor", DLTensor),
    ]


class Shy:
    """An array that shows `__dlpack__` alone, and notes what it is asked for."""

    def __init__(self, array, is_old=False):
        self.array, self.is_old = array, is_old
        self.asked = []
        self.capsules = []

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **keywords):
        self.asked.append(keywords)
        if self.is_old and "max_version" in keywords:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        capsule = self.array.__dlpack__(**keywords)
        self.capsules.append(capsule)
        return capsule


class Made:
    """A capsule made by hand around the memory of an array of floats; `back` counts deletions."""

    def __init__(self, array, name=VERSIONED, device=(1, 0), **changes):
        self.device, self.back, self.asked = device, 0, []
        kind = Versioned if name == VERSIONED else Managed
        self.shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        steps = [stride // array.itemsize for stride in array.strides]
        self.strides = (ctypes.c_int64 * array.ndim)(*steps)
        self.deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.delete)
        tensor = dict(
            data=array.ctypes.data,
            device_type=device[0],
            device_id=device[1],
            ndim=array.ndim,
            code=2,
            bits=32,
            lanes=1,
            shape=ctypes.addressof(self.shape),
            strides=ctypes.addressof(self.strides),
            byte_offset=0,
        )
        own = dict(deleter=ctypes.cast(self.deleter, ctypes.c_void_p))
        if kind is Versioned:
            own |= dict(major=1, minor=1, flags=0)
        for key, value in changes.items():
            (own if key in own else tensor)[key] = value
        self.lent = kind(dl_tensor=DLTensor(**tensor), **own)
        self.capsule = new_capsule(ctypes.addressof(self.lent), name, None)

    def delete(self, lent):
        assert lent == ctypes.addressof(self.lent)
        self.back += 1

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **keywords):
        self.asked.append(keywords)
        return self.capsule
