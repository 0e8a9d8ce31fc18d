import { copyText } from '../../design/copy-text.js'
import { showToast } from '../../design/toast.js'

/** Copies, and says what; says too when the browser did not let us. */
export async function copyAndSay(
  what: string,
  text: string | (() => Promise<string>),
): Promise<void> {
  try {
    const isDone = await copyText(typeof text === 'string' ? text : await text())
    if (isDone) showToast(`Copied ${what}`)
    else showToast(`The browser did not allow copying ${what}.`, { tone: 'danger' })
  } catch (error) {
    showToast(`Could not copy ${what}: ${(error as Error).message}`, { tone: 'danger' })
  }
}
