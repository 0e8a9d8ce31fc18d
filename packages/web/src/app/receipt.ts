import { checkReceipt, type SignatureCheck } from '@retake/tape'
import { browserPlatform } from '@retake/tape/browser'
import { receiptLines } from '@retake/tape/present'
import { type NamedKey, RECEIPT_BLOCKS } from '../report/receipt-blocks.js'

/** Returns undefined if ed25519 is not available in this browser or page. */
const check: SignatureCheck = async (message, signature, key) => {
  const subtle = globalThis.crypto?.subtle as SubtleCrypto | undefined
  if (subtle === undefined) return undefined
  const bytes = (each: Uint8Array): Uint8Array<ArrayBuffer> => Uint8Array.from(each)
  try {
    const imported = await subtle.importKey('raw', bytes(key), 'Ed25519', false, ['verify'])
    return await subtle.verify('Ed25519', imported, bytes(signature), bytes(message))
  } catch (error) {
    return error instanceof DOMException && error.name === 'NotSupportedError' ? undefined : false
  }
}

const element = (id: string): HTMLElement => {
  const found = document.querySelector<HTMLElement>(`#${id}`)
  if (found === null) throw new Error(`the page has no #${id}`)
  return found
}

const data = (id: string): unknown => JSON.parse(element(id).textContent ?? '') as unknown

const keys = data(RECEIPT_BLOCKS.keys) as readonly NamedKey[]
const ownerOf = (key: string): string | undefined => keys.find((each) => each.key === key)?.name

async function show(text: string): Promise<void> {
  const checked = await checkReceipt(browserPlatform, text, check)
  const result = element('result')
  result.replaceChildren()
  result.dataset['ok'] = String(checked.ok)
  let list: HTMLElement | undefined
  for (const { word, text: line } of receiptLines(checked, ownerOf)) {
    if (word === undefined) {
      list = document.createElement('dl')
      const heading = document.createElement('h2')
      heading.textContent = line
      result.append(heading, list)
    } else {
      const [term, value] = [document.createElement('dt'), document.createElement('dd')]
      term.textContent = word
      value.textContent = line
      list?.append(term, value)
    }
  }
}

const read = async (files: FileList | null | undefined): Promise<void> => {
  const [file] = files ?? []
  if (file !== undefined) await show(await file.text())
}

const input = element('file') as HTMLInputElement
input.addEventListener('change', () => void read(input.files))
addEventListener('dragover', (event) => {
  event.preventDefault()
  element('drop').classList.add('over')
})
addEventListener('dragleave', () => element('drop').classList.remove('over'))
addEventListener('drop', (event) => {
  event.preventDefault()
  element('drop').classList.remove('over')
  void read(event.dataTransfer?.files)
})

const embedded = data(RECEIPT_BLOCKS.receipt)
if (typeof embedded === 'string') void show(embedded)
