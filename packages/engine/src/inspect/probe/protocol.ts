/** The parts of the DevTools protocol that `Probe` uses. Lines and columns count from 0. */
export interface ScriptParsed {
  readonly scriptId: string
  readonly url: string
  readonly sourceMapURL?: string
}

export interface ScriptLocation {
  readonly scriptId: string
  readonly lineNumber: number
  readonly columnNumber?: number
}

export interface RemoteObject {
  readonly type: string
  readonly subtype?: string
  readonly className?: string
  readonly value?: unknown
  readonly unserializableValue?: string
  readonly description?: string
  readonly objectId?: string
}

export interface CallFrame {
  readonly callFrameId: string
  readonly functionName: string
  readonly location: ScriptLocation
  readonly scopeChain: readonly {
    readonly type: string
    readonly object: RemoteObject
    readonly startLocation?: ScriptLocation
  }[]
}

export interface Paused {
  readonly callFrames: readonly CallFrame[]
  readonly reason: string
}

export interface EvaluateResult {
  readonly result: RemoteObject
  readonly exceptionDetails?: {
    readonly text: string
    readonly exception?: RemoteObject
  }
}
