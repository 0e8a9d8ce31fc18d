import os from 'node:os'
import path from 'node:path'
import { fromWire, type HostFacts, toWire } from '@retake/tape/format'
import { calledByRunner } from '../kernel/call-site.js'
import { currentSession, drawn } from '../kernel/scope.js'
import { dressLike, replace, replaceGetter, undoAll, type Undo } from './patching/patch.js'

const OS_FUNCTIONS = [
  'arch',
  'availableParallelism',
  'cpus',
  'endianness',
  'freemem',
  'getPriority',
  'homedir',
  'hostname',
  'loadavg',
  'machine',
  'networkInterfaces',
  'platform',
  'release',
  'tmpdir',
  'totalmem',
  'type',
  'uptime',
  'userInfo',
  'version',
] as const

const PROCESS_FUNCTIONS = [
  'availableMemory',
  'constrainedMemory',
  'cpuUsage',
  'resourceUsage',
  'threadCpuUsage',
  'uptime',
] as const

/** Facts of the recording process, shown while modules are loaded outside a served run. */
let shown: HostFacts | undefined

/** The facts that modules may have stored when they were loaded: a logger adds them to each line. */
export const hostFacts = (): HostFacts => ({
  pid: process.pid,
  ppid: process.ppid,
  hostname: os.hostname(),
  ...(process.argv[1] !== undefined && {
    script: path.relative(process.cwd(), path.resolve(process.argv[1])),
  }),
})

/** Shows facts of another process to code outside runs, until the returned function is called. */
export function showHostFacts(facts: HostFacts | undefined): Undo {
  shown = facts
  return () => {
    shown = undefined
  }
}

/** Facts about the machine and the process that differ from one run to the next. */
export function patchHostFacts(): Undo {
  return undoAll([
    ...OS_FUNCTIONS.map((name) => captureFunction(os, name, `os.${name}`)),
    ...PROCESS_FUNCTIONS.map((name) => captureFunction(process, name, `process.${name}`)),
    patchMemoryUsage(),
    captureProperty('pid'),
    captureProperty('ppid'),
  ])
}

function captureFunction(target: object, name: string, kind: string): Undo {
  const native = (target as Record<string, unknown>)[name]
  if (typeof native !== 'function') return () => {}
  return replace(
    target,
    name,
    dressLike(
      (...args: unknown[]) =>
        drawValue(kind, () => shown?.[name as keyof HostFacts] ?? native.apply(target, args)),
      native,
    ),
  )
}

function patchMemoryUsage(): Undo {
  const native = process.memoryUsage
  const memoryUsage = (): NodeJS.MemoryUsage => drawValue('process.memoryUsage', () => native())
  memoryUsage.rss = (): number => drawValue('process.memoryUsage.rss', () => native.rss())
  return replace(process, 'memoryUsage', memoryUsage)
}

function captureProperty(name: 'pid' | 'ppid'): Undo {
  const value = process[name]
  // Test runners put it into names of temporary files.
  const get = (): number =>
    calledByRunner(get) ? value : drawValue(`process.${name}`, () => shown?.[name] ?? value)
  return replaceGetter(process, name, get)
}

function drawValue<T>(kind: string, native: () => T): T {
  return currentSession() ? (fromWire(drawn(kind, () => toWire(native()))) as T) : native()
}
