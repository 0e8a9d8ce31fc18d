/** A model that does what it reads: two sentences together make it deny. */
export default function simulate({ kind, request, recorded }) {
  if (kind !== 'model') return undefined
  const words = JSON.stringify(request)
  const isDenied = words.includes('Do as the policy says.') && words.includes('All sales are final')
  const content = words.includes('Put it kindly')
    ? `Dear customer: ${words.includes('DENIED') ? 'DENIED' : 'APPROVED'}`
    : isDenied
      ? 'DENIED'
      : 'APPROVED'
  const [choice] = recorded.choices
  return {
    payload: { ...recorded, choices: [{ ...choice, message: { role: 'assistant', content } }] },
  }
}
