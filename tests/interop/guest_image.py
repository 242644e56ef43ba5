"""The kernel and the initramfs of a guest with soft-RoCE: Debian's kernel, unpacked but never installed, and an archive
of this machine's own programs and libraries.

The kernel is kept under ${XDG_CACHE_HOME:-~/.cache}/rankwire/interop; the archive takes less than a second to write.
"""

import lzma
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tarfile
import tempfile
import zlib

# rdma_rxe asks for crc32 by name at run time, so it stands in no list of dependencies.
SOFT_ROCE = ("crc32_generic", "rdma_rxe")
DEVICES = ("virtio_pci", "virtio_console", "virtio_rng")
MODULE_FOLDERS = "/(infiniband|virtio|net|crypto|char|arch/x86/crypto|fs/9p|fs/fscache|fs/netfs)/"
PROGRAMS = {"ip": "iproute2", "rdma": "iproute2"}  # and the packages that have them
PERFTEST = dict.fromkeys(("ib_write_bw", "ib_send_bw", "ib_read_bw", "ib_write_lat"), "perftest")
DPDK_DRIVERS = ("bus_vdev", "mempool_ring", "net_af_packet", "net_ring", "net_tap")
# Of Open MPI's plug-ins those that mpirun and its processes take on one machine.
OPEN_MPI = (
    "allocator_basic", "allocator_bucket", "bml_r2", "btl_self", "btl_vader", "coll_basic", "coll_libnbc", "coll_self",
    "errmgr_default_app", "errmgr_default_hnp", "ess_hnp", "ess_pmi", "filem_raw", "grpcomm_direct", "iof_hnp",
    "odls_default", "oob_tcp", "plm_isolated", "pmix_ext3x", "pml_ob1", "ras_simulator", "reachable_weighted",
    "regx_fwd", "rmaps_round_robin", "rml_oob", "routed_direct", "rtc_hwloc", "schizo_ompi", "schizo_orte", "shmem_mmap",
    "state_app", "state_hnp",
)  # fmt: skip
HERE = pathlib.Path(__file__).parent
FOLDERS = ("bin", "dev", "etc", "etc/libibverbs.d", "modules", "proc", "run", "sys", "tmp")
DOWNLOAD_DEADLINE = 120  # s


class Unavailable(Exception):
    """Something that the guest is made of cannot be had here; the text says what."""


def output_of(*command, **how):
    how |= {"capture_output": True, "check": True, "timeout": DOWNLOAD_DEADLINE, "env": os.environ | {"LC_ALL": "C"}}
    try:
        return subprocess.run(command, **how).stdout
    except FileNotFoundError as error:
        raise Unavailable(f"no {command[0]}") from error
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"{command[0]} took more than {DOWNLOAD_DEADLINE} s") from error
    except subprocess.CalledProcessError as error:
        words = " ".join(map(str, command))
        raise Unavailable(f"{words}: {error.stderr.decode(errors='replace').strip()[-300:]}") from error


def cache_folder():
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "rankwire" / "interop"


def uncompressed_kernel(image):
    """The ELF kernel inside a bzImage whose payload is xz (Linux Documentation/x86/boot.rst: setup_sects at 0x1f1,
    payload_offset and payload_length at 0x248). QEMU boots it through its PVH note, which spares the guest the
    decompression: 3 s when emulated."""
    setup_sectors = image[0x1F1] or 4
    offset, length = struct.unpack_from("<II", image, 0x248)
    payload = image[(setup_sectors + 1) * 512 + offset :][:length]
    try:
        kernel = lzma.LZMADecompressor().decompress(payload)
    except lzma.LZMAError as error:
        raise Unavailable(f"the kernel is not compressed with xz: {error}") from error
    if kernel[:4] != b"\x7fELF":
        raise Unavailable("the kernel is no ELF file")
    return kernel


def is_wanted(path):
    return re.match(r"\./boot/vmlinuz-", path) or re.match(r"\./lib/modules/[^/]+/kernel/.*\.ko$", path)


def download_kernel(folder):
    """Fills the folder with `vmlinux` and the modules that a guest may need."""
    # Not linux-image-cloud-amd64, which has no rdma_rxe.
    depends = output_of("apt-cache", "depends", "linux-image-amd64").decode()
    package = re.search(r"Depends: (linux-image-\S+)", depends)
    if package is None:
        raise Unavailable("apt knows no linux-image-amd64; apt-get update may help")
    output_of("apt-get", "download", package.group(1), cwd=folder)
    (archive,) = folder.glob("linux-image-*.deb")
    needed = re.compile(MODULE_FOLDERS)
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archive], stdout=subprocess.PIPE) as unpack:
        with tarfile.open(fileobj=unpack.stdout, mode="r|") as files:
            for member in files:
                if not member.isfile() or not is_wanted(member.name):
                    continue
                if "/boot/" in member.name:
                    (folder / "vmlinux").write_bytes(uncompressed_kernel(files.extractfile(member).read()))
                elif needed.search(member.name):
                    (folder / pathlib.Path(member.name).name.replace("-", "_")).write_bytes(
                        files.extractfile(member).read()
                    )
    archive.unlink()
    if unpack.returncode != 0 or not (folder / "vmlinux").exists():
        raise Unavailable(f"{archive.name} could not be unpacked")


def kernel_folder():
    """The folder with `vmlinux` and `*.ko`, from the cache or from Debian's archive."""
    # What was unpacked for another list of folders lacks modules.
    folder = cache_folder() / f"kernel-{zlib.crc32(MODULE_FOLDERS.encode()):08x}"
    if (folder / "vmlinux").exists():
        return folder
    cache_folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache_folder()) as fresh:
        unpacked = pathlib.Path(fresh) / "kernel"
        unpacked.mkdir()
        download_kernel(unpacked)
        try:
            unpacked.rename(folder)
        except OSError:  # another run was faster
            if not (folder / "vmlinux").exists():
                raise
    return folder


def load_order(folder, wanted):
    """The modules and what they depend on, each behind its dependencies. What the kernel has built in is left out."""
    order = []

    def add(name):
        path = folder / f"{name}.ko"
        if name in order or not path.exists():
            return
        depends = re.search(rb"\0depends=([^\0]*)\0", path.read_bytes())
        for dependency in depends.group(1).decode().split(",") if depends else ():
            add(dependency.replace("-", "_"))
        order.append(name)

    for name in wanted:
        add(name)
    return order


def libraries_of(program):
    listing = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return re.findall(r"(/\S+) \(0x", listing)


class Archive:
    """A cpio archive of the kind `newc` (Linux Documentation/driver-api/early-userspace/buffer-format.rst)."""

    def __init__(self):
        self.parts = []
        self.names = set()

    def _add(self, name, mode, content=b""):
        name = str(name).lstrip("/")
        if name in self.names:
            return
        self.names.add(name)
        fields = (len(self.names), mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
        header = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
        self.parts += [header, b"\0" * (-len(header) % 4), content, b"\0" * (-len(content) % 4)]

    def folder(self, name):
        path = pathlib.PurePosixPath(str(name).lstrip("/"))
        for parent in [*reversed(path.parents), path]:
            if str(parent) != ".":
                self._add(parent, 0o040755)

    def link(self, name, target):
        self._add(name, 0o120777, target.encode())

    def file(self, name, content):
        self.folder(pathlib.PurePosixPath(name).parent)
        self._add(name, 0o100755, content)

    def program(self, path, name=None):
        """A program under its own or another name, and the libraries it is linked with."""
        self.file(name or path, pathlib.Path(path).resolve().read_bytes())
        for library in libraries_of(path):
            self.file(library, pathlib.Path(library).resolve().read_bytes())

    def write(self, path):
        self._add("TRAILER!!!", 0)
        path.write_bytes(b"".join(self.parts))


def provider():
    """libibverbs' driver for soft-RoCE and the file that announces it."""
    announcement = pathlib.Path("/etc/libibverbs.d/rxe.driver")
    found = sorted(pathlib.Path("/usr/lib").glob("*/libibverbs/librxe-rdmav*.so"))
    if not announcement.exists() or not found:
        raise Unavailable("no soft-RoCE driver of libibverbs (package ibverbs-providers)")
    return announcement, found[0]


def base_archive(kernel, modules, programs):
    """Busybox, `programs` and their packages, soft-RoCE, and the kernel's `modules` with what they need."""
    archive = Archive()
    for folder in FOLDERS:
        archive.folder(folder)
    busybox = shutil.which("busybox")
    if busybox is None or libraries_of(busybox):
        raise Unavailable("no static busybox (package busybox-static)")
    archive.program(busybox, "/bin/busybox")
    for applet in output_of(busybox, "--list").decode().split():
        archive.link(f"/bin/{applet}", "busybox")
    for name, package in (PROGRAMS | programs).items():
        program = shutil.which(name, path="/usr/bin:/bin:/usr/sbin:/sbin")
        if program is None:
            raise Unavailable(f"no {name} (package {package})")
        archive.program(program, f"/usr/bin/{name}")
    announcement, driver = provider()
    archive.program(driver)
    archive.file(announcement, announcement.read_bytes())
    order = load_order(kernel, (*SOFT_ROCE, *DEVICES, *modules))
    if "rdma_rxe" not in order:
        raise Unavailable("the kernel has no rdma_rxe")
    for name in order:
        archive.file(f"/modules/{name}.ko", (kernel / f"{name}.ko").read_bytes())
    archive.file("/modules/order", "\n".join(order).encode())
    archive.file("/init", HERE.joinpath("init").read_bytes())
    return archive


def line_archive(kernel, verbs_peer, programs):
    """Of a guest on a line, whose queue pairs verbs_peer has."""
    archive = base_archive(kernel, ("8021q", "virtio_net"), programs)
    archive.file("/setup", HERE.joinpath("setup_line").read_bytes())
    archive.program(verbs_peer, "/control")
    return archive


def open_mpi():
    """What starts several processes in the guest: mpirun and its plug-ins. Empty where Open MPI is not as Debian 12 has
    it, and with it what takes several."""
    mpirun = shutil.which("mpirun")
    plugins = [f"openmpi/lib/openmpi3/mca_{name}.so" for name in OPEN_MPI]
    found = [sorted(pathlib.Path("/usr/lib").glob(f"*/{name}"))[:1]
             for name in (*plugins, "pmix2/lib/pmix/pmix_mca_pcompress_zlib.so")]  # fmt: skip
    return [] if mpirun is None or [] in found else [mpirun, *sum(found, [])]


def rankwire_archive(kernel, rankwire):
    """Of a guest in which rankwire runs, with DPDK's drivers for interfaces of the kernel if it does not contain them."""
    programs = {"tc": "iproute2", "dumpcap": "wireshark-common", "setpriv": "util-linux"}
    modules = ("veth", "dummy", "tun", "bridge", "sch_netem", "sch_ingress", "sch_multiq", "cls_flower", "act_gact",
               "act_skbedit", "9p", "9pnet_virtio")  # fmt: skip
    archive = base_archive(kernel, modules, programs)
    archive.file("/setup", HERE.joinpath("setup_share").read_bytes())
    archive.file("/control", HERE.joinpath("control_shell").read_bytes())
    archive.folder("/var")
    archive.link("/var/run", "/run")
    with tempfile.TemporaryDirectory() as folder:
        # The symbols of the program are most of it.
        stripped = pathlib.Path(folder) / "rankwire"
        shutil.copy(rankwire, stripped)
        output_of("strip", stripped)
        archive.program(stripped, "/usr/bin/rankwire")
    for file in open_mpi():
        archive.program(file)
    plugins = any("/librte_eal." in library for library in libraries_of(rankwire))
    for driver in DPDK_DRIVERS if plugins else ():
        found = sorted(pathlib.Path("/usr/lib").glob(f"*/dpdk/pmds-*/librte_{driver}.so.*.*"))
        if not found:
            raise Unavailable(f"no DPDK driver {driver} (package librte-{driver.replace('_', '-')}23)")
        # One file under both names: a driver that is loaded twice registers twice.
        library = found[0].resolve().with_suffix("")
        archive.program(library)
        archive.folder(found[0].parent)
        archive.link(found[0], str(library))
    return archive
