import { createContext, use } from 'react'
import type { BodySide } from '../../../model/step-detail.js'
import type { Run } from '../../run/use-run.js'
import { DownloadBody } from '../bytes/download-body.js'

/** How a conversation is shown, and where its parts are from. */
export interface ChatLook {
  readonly run: Run
  readonly label: string
  readonly mono: boolean
  /** Label of the step that ran a call, by the path of the call. */
  readonly stepOfCall: (path: string) => string | undefined
  /** The body that a path is part of. */
  readonly sideOf: (path: string) => BodySide
}

const LookContext = createContext<ChatLook | undefined>(undefined)
export const ChatLookProvider = LookContext.Provider
export const useChatLook = (): ChatLook | undefined => use(LookContext)

/** Offers the body that a cut text stands in. */
export function WholeBody({ path }: { readonly path: string }) {
  const look = useChatLook()
  if (look === undefined) return null
  return <DownloadBody run={look.run} label={look.label} side={look.sideOf(path)} />
}
