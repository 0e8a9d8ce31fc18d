/**
 * Preloaded into a process: what is asked of api.openai.com goes to the scripted
 * model at MODEL_URL. Tapes that are recorded so name the real address.
 */
const native = globalThis.fetch
const model = process.env.MODEL_URL

globalThis.fetch = async (input, init) => {
  const url = String(input instanceof Request ? input.url : input)
  const response = await native(url.replace('https://api.openai.com', model), init)
  return Object.defineProperty(response, 'url', { value: url })
}
