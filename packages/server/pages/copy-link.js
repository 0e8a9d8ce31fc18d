// Copies the link of an invitation.
document.getElementById('copy').addEventListener('click', async ({ target }) => {
  const link = document.querySelector('[name=link]')
  link.select()
  try {
    await navigator.clipboard.writeText(link.value)
  } catch {
    // Without https, pages have no clipboard.
    document.execCommand('copy')
  }
  target.textContent = 'Copied'
})
