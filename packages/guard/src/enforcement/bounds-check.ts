import type { ChildProcess } from 'node:child_process'
import type http2 from 'node:http2'
import type net from 'node:net'
import type { FileCall, SpawnOptions } from '@retake/engine/hook'
import type { CallBounds } from '../bounds/call-bounds.js'
import type { BoundedCheck } from '../bounds/current-bounds.js'
import { installFor } from './install.js'
import { callWithin, checkDescriptor } from './files/file-calls.js'
import { FileCheck } from './files/file-check.js'
import { checkStream, fetchWithin } from './network/http.js'
import { checkQuery, connectWithin } from './network/sockets.js'
import { boundOptions, spawnWithin } from './processes/bound-child.js'

/** The check that applies to the tool of a call: its own bounds and those of enclosing calls. */
export function checkOf(bounds: CallBounds): BoundedCheck {
  installFor(bounds.scopes)
  return new BoundsCheck([...bounds.around, bounds])
}

/** Forwards the operations that the engine's boundaries see to the bounds of the calls. */
class BoundsCheck implements BoundedCheck {
  constructor(readonly bounds: readonly CallBounds[]) {}

  file(call: FileCall): unknown {
    return callWithin(this.bounds, call)
  }

  descriptor(access: 'read' | 'write', fd: number): void {
    checkDescriptor(new FileCheck(this.bounds), access, fd)
  }

  fetch(...[input, init]: Parameters<BoundedCheck['fetch']>): Promise<Response> {
    return fetchWithin(this.bounds, input, init)
  }

  connect(...[socket, options, callback, native]: Parameters<BoundedCheck['connect']>): net.Socket {
    return connectWithin(this.bounds, socket, options, callback, native)
  }

  request(origin: URL, headers: http2.OutgoingHttpHeaders): void {
    checkStream(this.bounds, origin, headers)
  }

  lookup(name: string, args: readonly unknown[]): Error | undefined {
    return checkQuery(this.bounds, name, args)
  }

  spawn(
    child: ChildProcess,
    options: SpawnOptions,
    start: (options: SpawnOptions) => number,
  ): number {
    return spawnWithin(this.bounds, child, options, start)
  }

  spawnSync(options: SpawnOptions): void {
    boundOptions(this.bounds, options)
  }
}
