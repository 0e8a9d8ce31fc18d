import { ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import { Duplex, type DuplexOptions, Readable, type Writable } from 'node:stream'
import { encodeBody, fromWire, rebuildError, recordError, toWire } from '@retake/tape/format'
import type { BodyForm } from '@retake/tape/format'
import { siteField } from '../../kernel/call-site.js'
import { natives } from '../../kernel/natives.js'
import { outsideRuns } from '../../kernel/scope.js'
import type { Delivery, Operation, Session } from '../../kernel/session.js'
import { commandLine, describeCommand } from './child-command.js'
import { withChildTask } from './recorded-child.js'
import { RepeatedHandshake } from './repeated-handshake.js'
import type { HandshakeMessage } from '../../kernel/session.js'
import { WrittenBytes } from '../patching/written-bytes.js'

/** Name of an attachment: a process that the recording waits for, unlike the program. */
export const CHILD_UNREF = 'unref'

interface SpawnOptions {
  readonly file: string
  readonly args?: readonly string[]
  readonly cwd?: string
  readonly stdio?: unknown
  /** `NAME=value` pairs, as Node passes them down. */
  readonly envPairs?: readonly string[]
}

type Done = (error?: Error | null) => void

/**
 * The process behind the agent's `ChildProcess`. While recording, the real process runs beside it;
 * on replay there is none. Output, messages and exit come through the gate; the agent's writes are
 * recorded and compared. Output that a child would print to the terminal is captured, too.
 */
export class TapeChild {
  /** Pipes of children, by the stream that the agent sees. */
  static readonly #owners = new WeakMap<object, { child: TapeChild; pipe: number }>()
  readonly #operation: Operation
  readonly #written: WrittenBytes
  readonly #stdio: string[]
  #real: ChildProcess | undefined
  /** Writes that wait until the handshake has been repeated with the new process. */
  #buffered: Uint8Array[] | undefined
  #endsAfterBuffer = false

  constructor(
    readonly session: Session,
    readonly child: ChildProcess,
    readonly options: SpawnOptions,
    readonly spawn: (real: ChildProcess, options: SpawnOptions) => void,
  ) {
    this.#written = new WrittenBytes(session)
    this.#stdio = stdioKinds(
      options.stdio,
      (entry) => entry instanceof Readable && (TapeChild.#owners.get(entry)?.pipe ?? 0) > 0,
    )
    const args = options.args ?? []
    session.secrets.learnEnvironment(options.envPairs ?? [])
    this.#operation = session.perform({
      event: {
        type: 'call',
        kind: 'process',
        name: 'spawn',
        title: commandLine(session, options.file, args.slice(1)),
        as: 'json',
        ...siteField(),
      },
      body: encodeBody(describeCommand(session, options.file, args.slice(1), options)).body,
      durable: true,
      start: (operation) => (this.#real = this.#startReal(operation)),
      restart: (...args) => this.#restart(...args),
      deliver: (delivery) => this.#deliver(delivery),
      stamp: () => this.#written.stamp(),
      digestAt: (written) => this.#written.digestAt(written),
    })
    const pid = session.draw('ChildProcess.pid', () => this.#real?.pid ?? null)
    Object.assign(child, {
      pid: pid ?? undefined,
      spawnfile: options.file,
      spawnargs: args,
      exitCode: null,
      signalCode: null,
    })
    this.#buildPipes()
    this.#buildMethods()
    // The stdin of this process is the output of another child (`stdio: [other.stdout]`). Node
    // would connect the two processes; here, its recorded output is passed on.
    const stdio = options.stdio
    if (this.#stdio[0] === 'child') {
      const source = (stdio as [Readable])[0]
      const real = this.#real?.stdin
      source.on('data', (data: Buffer) => void outsideRuns(() => real?.write(data)))
      source.on('end', () => outsideRuns(() => real?.end()))
      // The other process must notice that nobody reads its output any more.
      real?.on('close', () => {
        const owner = TapeChild.#owners.get(source)
        if (owner) outsideRuns(() => owner.child.#stopReading(owner.pipe))
      })
    }
  }

  // ── the real process ──────────────────────────────────────────────────────

  #startReal(operation: Operation, handshake?: RepeatedHandshake): ChildProcess {
    const options = withChildTask(this.session, operation.id, this.options)
    const real = new (ChildProcess as unknown as new () => ChildProcess)()
    const part = (name: string, value?: unknown): void =>
      operation.complete({
        type: 'deliver',
        part: name,
        ...(value !== undefined && { value: toWire(value) }),
      })
    const fail = (name: string) => (error: Error) =>
      operation.complete(
        { type: 'deliver', part: name, error: recordError(error) },
        undefined,
        error,
      )
    if (handshake === undefined) {
      real.on('spawn', () => part('spawn'))
      real.on('error', fail('error'))
    } else {
      // The agent considers the process running, so an error is its end.
      real.on('error', () => {
        part('exit', [1, null])
        part('close', [1, null])
      })
    }
    real.on('exit', (code, signal) => part('exit', [code, signal]))
    real.on('close', (code, signal) => part('close', [code, signal]))
    real.on('message', (message) => part('message', message))
    real.on('disconnect', () => part('disconnect'))
    this.spawn(real, { ...options, stdio: this.#realStdio(options.stdio) })
    real.stdin?.on('error', fail('stdin-error'))
    for (const [pipe, stream] of (real.stdio as readonly (Duplex | null)[]).entries()) {
      if (pipe === 0 || (pipe > 2 && this.#stdio[pipe] !== 'pipe')) continue
      stream?.on('data', (data: Buffer) => {
        if (pipe === 1 && handshake?.take(data) === true) return
        operation.complete({ type: 'deliver', part: 'chunk', pipe }, data)
      })
      stream?.on('end', () => operation.complete({ type: 'deliver', part: 'end', pipe }))
      // Like stdin: the agent is notified by the end of the process.
      if (pipe > 2) stream?.on('error', () => {})
    }
    return real
  }

  #restart(
    operation: Operation,
    messages: readonly HandshakeMessage[],
    again: readonly string[],
  ): void {
    this.#buffered = []
    const write = (text: string | Uint8Array): void => void this.#real?.stdin?.write(text)
    const handshake = new RepeatedHandshake(messages, write, (rest) => {
      for (const line of again) write(`${line}\n`)
      for (const bytes of this.#buffered ?? []) write(bytes)
      this.#buffered = undefined
      if (this.#endsAfterBuffer) this.#real?.stdin?.end()
      if (rest.length > 0) operation.complete({ type: 'deliver', part: 'chunk', pipe: 1 }, rest)
    })
    outsideRuns(() => {
      this.#real = this.#startReal(operation, handshake)
      handshake.begin()
    })
  }

  /** Pipes in place of an inherited stdout and stderr, and of another child; the rest as requested. */
  #realStdio(requested: unknown): unknown {
    const isPiped = (kind: string | undefined, pipe: number): boolean =>
      pipe === 0 ? kind === 'child' : pipe < 3 && kind === 'inherit'
    if (!this.#stdio.some(isPiped)) return requested
    const list: readonly unknown[] = Array.isArray(requested) ? requested : this.#stdio.slice(0, 3)
    return list.map((entry, pipe) => (isPiped(this.#stdio[pipe], pipe) ? 'pipe' : entry))
  }

  #stopReading(pipe: number): void {
    const stream = this.#real?.stdio[pipe] as Readable | null | undefined
    stream?.destroy()
  }

  // ── what reaches the agent ────────────────────────────────────────────────

  #deliver({ event, body, native }: Delivery): void {
    if (event.type !== 'deliver') return
    const { child } = this
    const value = fromWire(event.value)
    const error = (native ?? (event.error && rebuildError(event.error))) as Error
    switch (event.part) {
      case 'chunk': {
        const { pipe = 1 } = event
        const bytes = Buffer.from(body)
        if (this.#stdio[pipe] !== 'inherit') this.#readable(pipe)?.push(bytes)
        else if (pipe === 1) natives.stdoutWrite(bytes)
        else natives.stderrWrite(bytes)
        return
      }
      case 'end':
        this.#readable(event.pipe ?? 1)?.push(null)
        return
      case 'spawn':
        child.emit('spawn')
        return
      case 'message':
        child.emit('message', value, undefined)
        return
      case 'disconnect':
        Object.assign(child, { connected: false, channel: null })
        child.emit('disconnect')
        return
      case 'exit': {
        const [exitCode, signalCode] = value as [number | null, string | null]
        Object.assign(child, { exitCode, signalCode })
        // As in Node: libraries wait for the end of all three pipes.
        child.stdin?.destroy()
        child.emit('exit', exitCode, signalCode as NodeJS.Signals | null)
        return
      }
      case 'close':
        this.#operation.close()
        child.emit('close', ...(value as [number, NodeJS.Signals]))
        return
      case 'stdin-error':
        child.stdin?.destroy(error)
        return
      case 'error':
        if (child.pid === undefined) child.stdin?.destroy()
        child.emit('error', error)
        return
    }
  }

  #readable(pipe: number): Readable | null | undefined {
    return this.child.stdio[pipe] as Readable | null | undefined
  }

  // ── the agent's child ─────────────────────────────────────────────────────

  #buildPipes(): void {
    const make = [() => this.#makeStdin(), () => this.#makeReadable(1), () => this.#makeReadable(2)]
    const stdio = this.#stdio.map((kind, pipe) => {
      if (kind !== 'pipe') return null
      const stream = make[pipe]?.() ?? this.#makeExtraPipe(pipe)
      TapeChild.#owners.set(stream, { child: this, pipe })
      return stream
    })
    const [stdin, stdout, stderr] = stdio
    Object.assign(this.child, { stdin, stdout, stderr, stdio })
  }

  #makeExtraPipe(pipe: number): Duplex {
    const real = (): Writable | undefined =>
      (this.#real?.stdio[pipe] ?? undefined) as Writable | undefined
    const duplex = new Duplex({
      allowHalfOpen: false,
      read: () => {},
      write: (chunk: Buffer, _encoding, done: Done) => {
        this.#write(chunk)
        outsideRuns(() => real()?.write(chunk))
        done()
      },
      final: (done: Done) => {
        outsideRuns(() => real()?.end())
        done()
      },
    })
    return this.#referenced(duplex, pipe)
  }

  /** As in Node, it has the methods of a readable stream; python-shell calls `setEncoding`. */
  #makeStdin(): Duplex {
    // The types of Node do not have `readable`.
    const options: DuplexOptions & { readonly readable: boolean } = {
      readable: false,
      write: (chunk: Buffer, _encoding, done: Done) => {
        this.#write(chunk)
        // A real server does not get requests that the tape answers.
        if (this.#operation.source !== 'tape') {
          if (this.#buffered !== undefined) this.#buffered.push(chunk)
          else outsideRuns(() => this.#real?.stdin?.write(chunk))
        }
        done()
      },
      final: (done: Done) => {
        if (this.#buffered !== undefined) this.#endsAfterBuffer = true
        else outsideRuns(() => this.#real?.stdin?.end())
        this.#inputEnded()
        done()
      },
    }
    return this.#referenced(new Duplex(options), 0)
  }

  #makeReadable(pipe: number): Readable {
    const readable = new Readable({
      read: () => {},
      // The process must notice that nobody reads its output any more.
      destroy: (error, done) => {
        outsideRuns(() => this.#stopReading(pipe))
        done(error)
      },
    })
    return this.#referenced(readable, pipe)
  }

  /** As in Node, a pipe keeps the program running unless it is unreferenced. */
  #referenced<S extends Readable | Writable>(stream: S, pipe: number): S {
    const pass = (method: 'ref' | 'unref') => () => {
      outsideRuns(() => (this.#real?.stdio[pipe] as Socket | null | undefined)?.[method]())
      return stream
    }
    return Object.assign(stream, { ref: pass('ref'), unref: pass('unref') })
  }

  #buildMethods(): void {
    const { child, session } = this
    Object.assign(child, {
      kill: (signal?: NodeJS.Signals | number) => {
        const sent = session.draw(
          'ChildProcess.kill',
          () => outsideRuns(() => this.#real?.kill(signal)) ?? false,
        )
        if (sent) Object.assign(child, { killed: true })
        this.#inputEnded()
        return sent
      },
      ref: () => this.#real?.ref(),
      unref: () => {
        this.#real?.unref()
        // Its pipes still keep the program running, so that it does not fail when it writes.
        if (this.#stdio.slice(1, 3).includes('inherit') && this.child.exitCode === null)
          session.note({ kind: 'attachment', name: CHILD_UNREF, ...siteField() })
      },
    })
    if (!this.#stdio.includes('ipc')) return
    Object.assign(child, {
      connected: true,
      channel: ipcChannel(() => this.#real?.channel),
      send: (message: unknown, ...rest: unknown[]) => {
        const { as, body } = encodeBody(message)
        this.#write(body, as)
        outsideRuns(() => this.#real?.send(message as never))
        const done = rest.findLast((argument) => typeof argument === 'function') as Done | undefined
        if (done) process.nextTick(done, null)
        return true
      },
      disconnect: () => {
        Object.assign(child, { connected: false, channel: null })
        outsideRuns(() => this.#real?.connected && this.#real.disconnect())
      },
    })
  }

  #inputEnded(): void {
    this.#operation.hasInputEnded = true
    this.session.proceed()
  }

  /** An answer may have been waiting for these bytes. */
  #write(bytes: Uint8Array, as?: BodyForm): void {
    this.session.write(this.#operation, bytes, as)
    // Not counted earlier: if a run leaves the tape at this write, the recorded answer does not
    // belong to it.
    this.#written.add(bytes)
    this.session.proceed()
  }
}

/** The methods of an IPC channel: whether it keeps the process running. */
export function ipcChannel(real: () => object | null | undefined): object {
  return Object.fromEntries(
    ['ref', 'unref', 'refCounted', 'unrefCounted'].map((method) => [
      method,
      () => (real() as Record<string, (() => void) | undefined> | null | undefined)?.[method]?.(),
    ]),
  )
}

/**
 * Each entry as `pipe`, `ignore`, `inherit`, `ipc`, `child` (the output of another child as input)
 * or `other`.
 */
function stdioKinds(stdio: unknown, isOfChild: (entry: unknown) => boolean): string[] {
  const list = Array.isArray(stdio) ? stdio : [stdio, stdio, stdio]
  return Array.from({ length: Math.max(3, list.length) }, (_, pipe): string => {
    const entry: unknown = list[pipe] ?? (pipe < 3 ? 'pipe' : 'ignore')
    if (entry === 'overlapped') return 'pipe'
    if (typeof entry === 'string') return entry
    if (pipe === 0 && isOfChild(entry)) return 'child'
    if (
      entry === pipe ||
      (pipe === 1 && entry === process.stdout) ||
      (pipe === 2 && entry === process.stderr)
    )
      return 'inherit'
    return 'other'
  })
}
