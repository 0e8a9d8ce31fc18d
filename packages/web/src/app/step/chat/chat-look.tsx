import { createContext, use } from 'react'

/** How a conversation is shown, and what its parts may ask for. */
export interface ChatLook {
  readonly mono: boolean
  /** Label of the step that ran a call of the answer, by the call's id or its place. */
  readonly stepOfCall: (id: string, path: string) => string | undefined
  /** Offers the body that a cut text stands in. */
  readonly wholeOf: (path: string) => React.ReactNode
}

const LookContext = createContext<ChatLook>({
  mono: false,
  stepOfCall: () => undefined,
  wholeOf: () => null,
})
export const ChatLookProvider = LookContext.Provider
export const useChatLook = (): ChatLook => use(LookContext)
