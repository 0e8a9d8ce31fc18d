export {
  type Confinement,
  onSandboxFile,
  outsideSockets,
  sandboxMissing,
  startConfined,
} from './bubblewrap.js'
export { endById, endDescendants, endWithDescendants } from './end-processes.js'
export {
  FileRoots,
  fold,
  foldersAbove,
  foldsCase,
  isBelow,
  type ResolvedPath,
  resolvePath,
  statOf,
} from './file-roots.js'
export { type Forwarding, forwardingOf, hostsText, type ReachableAddress } from './forwarding.js'
export { permissionFlags } from './permission-model.js'
export { underSeatbelt } from './seatbelt.js'
