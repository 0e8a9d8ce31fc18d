/**
 * Numbers of refused system calls: those that mount, load kernel code, inspect other processes, or
 * have been used to escape from namespaces.
 */
const REFUSED: Readonly<Record<string, readonly [x64: number | undefined, arm64: number]>> = {
  acct: [163, 89],
  add_key: [248, 217],
  bpf: [321, 280],
  chroot: [161, 51],
  clock_settime: [227, 112],
  delete_module: [176, 106],
  finit_module: [313, 273],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fsopen: [430, 430],
  fspick: [433, 433],
  init_module: [175, 105],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  io_uring_setup: [425, 425],
  kcmp: [312, 272],
  kexec_file_load: [320, 294],
  kexec_load: [246, 104],
  keyctl: [250, 219],
  mount: [165, 40],
  mount_setattr: [442, 442],
  move_mount: [429, 429],
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  open_tree: [428, 428],
  perf_event_open: [298, 241],
  pidfd_getfd: [438, 438],
  pivot_root: [155, 41],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  ptrace: [101, 117],
  quotactl: [179, 60],
  reboot: [169, 142],
  request_key: [249, 218],
  setdomainname: [171, 162],
  sethostname: [170, 161],
  setns: [308, 268],
  settimeofday: [164, 170],
  swapoff: [168, 225],
  swapon: [167, 224],
  umount2: [166, 39],
  unshare: [272, 97],
  userfaultfd: [323, 282],
}

/** Also refused if no process may be started. `clone` is checked by its flags. */
const STARTS_PROCESS: Readonly<Record<string, readonly [x64: number, arm64: undefined]>> = {
  fork: [57, undefined],
  vfork: [58, undefined],
}

interface Machine {
  readonly audit: number
  readonly column: 0 | 1
  readonly clone: number
  readonly ioctl: number
  readonly socket: number
  readonly socketpair: number
}

const MACHINES: Readonly<Record<string, Machine>> = {
  x64: { audit: 0xc000003e, column: 0, clone: 56, ioctl: 16, socket: 41, socketpair: 53 },
  arm64: { audit: 0xc00000b7, column: 1, clone: 220, ioctl: 29, socket: 198, socketpair: 199 },
}

const CLONE3 = 435
const CLONE_THREAD = 0x10000
/** `CLONE_NEWNS`, `NEWCGROUP`, `NEWUTS`, `NEWIPC`, `NEWUSER`, `NEWPID` and `NEWNET`. */
const NEW_NAMESPACE = 0x7e020000
/** `TIOCSTI` and `TIOCLINUX`, which type into the terminal that started the sandbox. */
const TYPES_INTO_TERMINAL = [0x5412, 0x541c]
const AF_UNIX = 1
/** Families that a network namespace isolates: `INET`, `INET6`, `NETLINK`. Others reach the host. */
const SEPARATED = [2, 10, 16]
const [SOCK_TYPE_MASK, SOCK_DGRAM] = [0xf, 2]
/** The first system call number of the x32 ABI. */
const X32 = 0x40000000

const [LOAD, AND, RETURN] = [0x20, 0x54, 0x06]
const [JUMP_EQUAL, JUMP_ATLEAST, JUMP_ANY_BIT] = [0x15, 0x35, 0x45]
const [ALLOW, KILL] = [0x7fff0000, 0x80000000]
const fail = (errno: number): number => 0x00050000 | errno
const [EPERM, ENOSYS] = [1, 38]
/** Offsets in `struct seccomp_data`. */
const [NUMBER, ARCH, FIRST, SECOND] = [0, 4, 16, 24]

export interface SeccompOptions {
  /** The network of this machine may be used. */
  readonly network: boolean
  /** Unix sockets with a path may be used. A network namespace does not isolate them. */
  readonly localSockets: boolean
  /** False: may start threads, but no processes. */
  readonly processes?: boolean
}

/** A filter for `bwrap --seccomp`; undefined on processors other than x64 and arm64. */
export function seccompFilter({
  network,
  localSockets,
  processes = true,
}: SeccompOptions): Buffer | undefined {
  const machine = MACHINES[process.arch]
  if (machine === undefined) return undefined
  const { audit, column, clone, ioctl, socket, socketpair } = machine
  const families = localSockets ? [AF_UNIX, ...SEPARATED] : SEPARATED
  const refused = processes ? REFUSED : { ...REFUSED, ...STARTS_PROCESS }
  const numbers = Object.values(refused).flatMap((pair) => pair[column] ?? [])
  const program: number[][] = [
    [LOAD, 0, 0, ARCH],
    [JUMP_EQUAL, 1, 0, audit],
    [RETURN, 0, 0, KILL],
    [LOAD, 0, 0, NUMBER],
    [JUMP_ATLEAST, 0, 1, X32],
    [RETURN, 0, 0, fail(EPERM)],
    // libc falls back to `clone`, whose flags a filter can read.
    [JUMP_EQUAL, 0, 1, CLONE3],
    [RETURN, 0, 0, fail(ENOSYS)],
    ...numbers.flatMap((number) => [
      [JUMP_EQUAL, 0, 1, number],
      [RETURN, 0, 0, fail(EPERM)],
    ]),
    [JUMP_EQUAL, 0, processes ? 4 : 6, clone],
    [LOAD, 0, 0, FIRST],
    [JUMP_ANY_BIT, 0, 1, NEW_NAMESPACE],
    [RETURN, 0, 0, fail(EPERM)],
    ...(processes
      ? []
      : [
          [JUMP_ANY_BIT, 1, 0, CLONE_THREAD],
          [RETURN, 0, 0, fail(EPERM)],
        ]),
    [RETURN, 0, 0, ALLOW],
    ...(network
      ? []
      : [
          [JUMP_EQUAL, 0, families.length + 3, socket],
          [LOAD, 0, 0, FIRST],
          ...families.map((family, at) => [JUMP_EQUAL, families.length - at, 0, family]),
          [RETURN, 0, 0, fail(EPERM)],
          [RETURN, 0, 0, ALLOW],
        ]),
    ...(localSockets
      ? []
      : [
          // Stream pairs stay connected to each other; datagram sockets can send anywhere.
          [JUMP_EQUAL, 0, 5, socketpair],
          [LOAD, 0, 0, SECOND],
          [AND, 0, 0, SOCK_TYPE_MASK],
          [JUMP_EQUAL, 0, 1, SOCK_DGRAM],
          [RETURN, 0, 0, fail(EPERM)],
          [RETURN, 0, 0, ALLOW],
        ]),
    [JUMP_EQUAL, 0, TYPES_INTO_TERMINAL.length * 2 + 1, ioctl],
    [LOAD, 0, 0, SECOND],
    ...TYPES_INTO_TERMINAL.flatMap((request) => [
      [JUMP_EQUAL, 0, 1, request],
      [RETURN, 0, 0, fail(EPERM)],
    ]),
    [RETURN, 0, 0, ALLOW],
  ]
  const filter = Buffer.alloc(program.length * 8)
  for (const [index, [code = 0, ifTrue = 0, ifFalse = 0, value = 0]] of program.entries()) {
    filter.writeUInt16LE(code, index * 8)
    filter.writeUInt8(ifTrue, index * 8 + 2)
    filter.writeUInt8(ifFalse, index * 8 + 3)
    filter.writeUInt32LE(value >>> 0, index * 8 + 4)
  }
  return filter
}
