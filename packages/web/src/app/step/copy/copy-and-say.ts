import { copyText } from './copy-text.js'
import { notify } from './notice.js'

/** Copies, and says so; says too when it could not. */
export async function copyAndSay(what: string, text: string): Promise<void> {
  notify((await copyText(text)) ? `Copied ${what}` : `This browser did not let us copy ${what}`)
}
